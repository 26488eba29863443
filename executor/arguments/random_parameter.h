// Initial values of parameters drawn from a distribution, by the same generator as the random ops: equal seeds give equal numbers.
#pragma once

#include <cstdint>

#include "graph/array/array.h"

namespace cleave::runtime {

enum class RandomKind : std::uint8_t { uniform, normal, truncated_normal, orthogonal };

/// uniform: from [first, second). normal: mean `first`, standard deviation `second`; truncated_normal: the same, drawn again where it is
/// more than two deviations from the mean. orthogonal: `first` times a matrix of orthonormal columns, or rows if there are more columns, of
/// which the last axis is the columns and the others are the rows (Saxe et al. 2014).
Result<Array> random_parameter(RandomKind kind, const TensorType& type, double first, double second, std::uint64_t seed);

}  // namespace cleave::runtime
