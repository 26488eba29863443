// MovedGroup: a group's request without its movement steps (slice, reshape, broadcast). Movement of inputs becomes strided reads in place;
// movement of values made inside the group becomes a copy or nothing. Knows how operations move elements, and no kernel.
#pragma once

#include <optional>
#include <vector>

#include "executor/runtime.h"
#include "graph/array/tensor_type.h"
#include "graph/kernel/fusible_op.h"
#include "graph/kernel/kernel_request.h"
#include "graph/ops/strided.h"

namespace cleave::runtime::host {

constexpr std::size_t kMostSteps = kernels::kMostFusedSteps;

/// The positions in memory of the elements of an operand that comes from outside the group.
struct Reading {
  std::size_t input = 0;    ///< index among the inputs of the original request
  std::int64_t offset = 0;  ///< elements
  ops::Strides strides;     ///< along the axes of the operand's type, in elements
};

/// A request whose steps are all element-wise or reductions. Its input types are those that the readings give.
struct MovedGroup : KernelRequest {
  std::vector<Reading> readings;  ///< by input

  /// The strides at which an operand is read as an array of shape `to`, to which it broadcasts.
  [[nodiscard]] ops::Strides strides(std::size_t operand, const Shape& to) const;
};

/// A cheap necessary test for `without_movement`: all steps move elements, are element-wise or reduce, and the steps that compute are not
/// more than a kernel holds. `without_movement` costs far more.
bool could_do_without_movement(const KernelRequest& request);

/// The group without movement; nothing if a step moves elements made inside the group other than by reshaping or broadcasting, or reads a
/// moved operand in a way that strides do not describe.
std::optional<MovedGroup> without_movement(const KernelRequest& request);

}  // namespace cleave::runtime::host
