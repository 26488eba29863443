// Steps of a group as instructions, one step after the other. This is where ops are known by name; the meaning of each is that of
// graph/ops/scalars.h to the bit.
#pragma once

#include <map>
#include <vector>

#include "executor/host/code/body.h"
#include "executor/host/instructions.h"
#include "partitioner/machine/kernel_request.h"

namespace cleave::runtime::host {

class Lowering {
 public:
  /// `repeats`: by input of the request, whether it is one element for all.
  Lowering(const planner::KernelRequest& request, const std::vector<bool>& repeats, Instructions set)
      : request_(request), repeats_(repeats), set_(set) {}

  /// The next step's instructions. False: there are none for it, or its lanes are not those of the steps before it; nothing changed.
  bool take(std::size_t step);

  [[nodiscard]] const Body& body() const { return body_; }
  /// Which of the body's values a step that was taken computes.
  [[nodiscard]] ValueIndex made_by(std::size_t step) const { return values_.at(request_.input_types.size() + step); }

 private:
  [[nodiscard]] DType type_of(std::size_t group_value) const;
  bool lower(const planner::FusedStep& step);
  ValueIndex value_of(std::size_t group_value);

  const planner::KernelRequest& request_;
  const std::vector<bool>& repeats_;
  Instructions set_;
  Body body_;
  std::map<std::size_t, ValueIndex> values_;  ///< by the group's value
};

}  // namespace cleave::runtime::host
