// MovedGroup: a group's request without its movement. What slices, reshapes and broadcasts of inputs give is read in place, by strides;
// what they give of values made inside is copied where it belongs, or not at all. Knows how operations move elements, and no kernel.
#pragma once

#include <optional>
#include <vector>

#include "executor/runtime.h"
#include "graph/array/tensor_type.h"
#include "graph/ops/strided.h"
#include "partitioner/machine/kernel_request.h"

namespace cleave::runtime::host {

constexpr std::size_t kMostSteps = 32;  ///< of a group's kernel

/// Where the elements of an operand from outside lie.
struct Reading {
  std::size_t input = 0;    ///< of the group as it was asked for
  std::int64_t offset = 0;  ///< elements
  ops::Strides strides;     ///< along the axes of the operand's type, in elements
};

/// Steps that are element-wise or reduce. Its input types are those that the readings give.
struct MovedGroup : KernelRequest {
  std::vector<Reading> readings;  ///< by input

  /// How an operand is read as an array of this shape, to which it broadcasts.
  [[nodiscard]] ops::Strides strides(std::size_t operand, const Shape& to) const;
};

/// Whether a group's steps move elements, are element-wise or reduce, and no more of them compute than a kernel holds. Groups of
/// which this is false have no kernel without movement either; finding that out costs far more.
bool could_do_without_movement(const KernelRequest& request);

/// Nothing where a step moves elements that the group makes in another way than reshaping or broadcasting, or reads a moved operand in a
/// way that strides do not describe.
std::optional<MovedGroup> without_movement(const KernelRequest& request);

}  // namespace cleave::runtime::host
