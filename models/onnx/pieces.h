// Parts of values and their order, as several families need them; and results whose size depends on data.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// The elements from `from` to before `to` along an axis; `x` itself where that is all.
Part piece(Call& c, const Part& x, int axis, std::int64_t from, std::int64_t to);
/// One element of an axis, which is no axis of the result.
Part element(Call& c, const Part& x, int axis, std::int64_t at);
/// `x` in another shape, or with its axes in another order: itself where nothing changes.
Part reshaped(Call& c, const Part& x, Shape shape);
Part permuted(Call& c, const Part& x, const std::vector<std::int64_t>& order);
/// The axis in another place, the others in their order.
Part moved_axis(Call& c, const Part& x, int from, int to);
std::int64_t extent_product(const Shape& shape, std::size_t from, std::size_t to);

inline constexpr std::string_view kResultShape = "the shape of its result";  ///< of an operand that gives it, in messages

// Results whose size depends on data: as large as they may become, and how much of one axis is meant.

/// `count`, an i32 scalar, which is an Error of the run where it is more than the `bound` that the user gave with --bound. `at_least`: it
/// may be more than is counted.
Part within_bound(Call& c, const Part& count, std::int64_t bound, bool at_least = false);
/// The first `count` elements along `axis` are meant. Where the count is known, these are the result.
Value bounded(Call& c, const Part& padded, const Part& count, int axis);
/// The result of an operation element by element: as long as its operands.
Values elements(Call& c, const Part& result);
/// Indices of which those behind the count are 0, so that none is outside.
Part valid_indices(Call& c, const Value& indices);

}  // namespace cleave::models::onnx
