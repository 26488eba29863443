// Deliveries: which reads each transfer serves. A read is served by the one transfer of its value in the read's region or in a region
// around that.
#pragma once

#include <span>
#include <vector>

#include "partitioner/apply/transfers.h"
#include "partitioner/machine/value_uses.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

/// Maps each transfer, by index, to the uses it serves.
class Deliveries {
 public:
  Deliveries(const Graph& graph, const ValueUses& uses, const Placement& placement, const std::vector<Transfer>& transfers);

  [[nodiscard]] std::span<const ValueUse> of(std::size_t transfer) const {
    return {uses_.data() + first_[transfer], uses_.data() + first_[transfer + 1]};
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<ValueUse> uses_;
};

/// Whether `use` reads its value on `device`.
bool reads_on(const Placement& placement, const ValueUse& use, DeviceId device);

}  // namespace cleave::planner
