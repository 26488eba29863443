// Compare: whether a computed array agrees with the meaning's, within the tolerances that cleave promises.
#pragma once

#include <optional>
#include <string>

#include "graph/op.h"

namespace cleave::runtime {

/// How many numbers of size one meet in one element of the results, as the absolute tolerance counts them: from the shapes, the op's cost
/// and the largest operands.
double reduction_length(const OpDef& op, const Attributes& attributes, std::span<const Array> inputs, std::span<const Array> results);

/// Nothing, or what differs first ("element 7 is 1.5 instead of 2"). Integers and bool exactly; floating types within a relative and an
/// absolute tolerance, the latter times the square root of `reduction_length`. NaN agrees with NaN. `slack`: how much more each element may
/// be off (error_bound.h), infinity: it may be anything; null: nothing.
std::optional<std::string> difference(const Array& computed, const Array& expected, double reduction_length = 1,
                                      const Array* slack = nullptr);

/// The same for elements that are only moved: equal numbers, or both NaN.
std::optional<std::string> exact_difference(const Array& computed, const Array& expected);

}  // namespace cleave::runtime
