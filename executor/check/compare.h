// Compare: checks whether a computed array agrees with the reference implementation's, within the tolerances that cleave promises.
#pragma once

#include <optional>
#include <string>

#include "graph/op.h"

namespace cleave::runtime {

/// The number of terms of magnitude one that are summed in one element of the results, which scales the absolute tolerance: computed from
/// the shapes, the op's cost and the largest operands.
double reduction_length(const OpDef& op, const Attributes& attributes, std::span<const Array> inputs, std::span<const Array> results);

/// The first difference ("element 7 is 1.5 instead of 2"), or nullopt. Integers and bool must be equal; floating types must agree within a
/// relative and an absolute tolerance, the latter times the square root of `reduction_length`. NaN agrees with NaN. `slack`: additional
/// tolerance of each element (error_bound.h), infinity: any value is right; null: none.
std::optional<std::string> difference(const Array& computed, const Array& expected, double reduction_length = 1,
                                      const Array* slack = nullptr);

/// The same for elements that are only moved: they must be equal, or both NaN.
std::optional<std::string> exact_difference(const Array& computed, const Array& expected);

}  // namespace cleave::runtime
