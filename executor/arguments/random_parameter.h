// Initial values of parameters drawn from a distribution, by the same generator as the random ops: equal seeds give equal numbers.
#pragma once

#include <cstdint>

#include "graph/array/array.h"

namespace cleave::runtime {

enum class RandomKind : std::uint8_t { uniform, normal };

/// uniform: from [first, second). normal: mean `first`, standard deviation `second`.
Result<Array> random_parameter(RandomKind kind, const TensorType& type, double first, double second, std::uint64_t seed);

}  // namespace cleave::runtime
