// Lowers the steps of a group to instructions, one step after the other. Only this code of the room knows op names; each lowering is bit
// for bit the scalar expression of graph/ops/scalars.h.
#pragma once

#include <map>
#include <vector>

#include "executor/host/code/body.h"
#include "executor/host/instructions.h"
#include "graph/kernel/kernel_request.h"

namespace cleave::runtime::host {

class Lowering {
 public:
  /// `repeats`: by input of the request, whether it is a single element.
  Lowering(const kernels::KernelRequest& request, const std::vector<bool>& repeats, Instructions set)
      : request_(request), repeats_(repeats), set_(set) {}

  /// Appends the next step's instructions. False: there are none for the step, or its lane size differs from earlier steps'; nothing is
  /// changed.
  bool take(std::size_t step);

  [[nodiscard]] const Body& body() const { return body_; }
  /// The body's value that holds the result of a lowered step.
  [[nodiscard]] ValueIndex made_by(std::size_t step) const { return values_.at(request_.input_types.size() + step); }

 private:
  [[nodiscard]] DType type_of(std::size_t group_value) const;
  bool lower(const kernels::FusedStep& step);
  ValueIndex value_of(std::size_t group_value);

  const kernels::KernelRequest& request_;
  const std::vector<bool>& repeats_;
  Instructions set_;
  Body body_;
  std::map<std::size_t, ValueIndex> values_;  ///< by the group's value index
};

}  // namespace cleave::runtime::host
