// Slices and permutations that several families of lowerings share, and results whose size depends on data.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// The elements [from, to) along an axis; `x` itself if these are all.
Part piece(Call& c, const Part& x, int axis, std::int64_t from, std::int64_t to);
/// One element along an axis; the result lacks that axis.
Part element(Call& c, const Part& x, int axis, std::int64_t at);
/// `x` in another shape, or with permuted axes; `x` itself if nothing changes.
Part reshaped(Call& c, const Part& x, Shape shape);
Part permuted(Call& c, const Part& x, const std::vector<std::int64_t>& order);
/// Moves one axis; the others keep their order.
Part moved_axis(Call& c, const Part& x, int from, int to);
std::int64_t extent_product(const Shape& shape, std::size_t from, std::size_t to);

inline constexpr std::string_view kResultShape = "the shape of its result";  ///< the purpose of a shape operand, in messages

// Results whose size depends on data: arrays of the largest possible size, with the valid extent of one axis.

/// `count`, an i32 scalar. The run fails with an Error if it exceeds `bound`, which the user gave with --bound. `at_least`: the true number
/// may be larger than `count`.
Part within_bound(Call& c, const Part& count, std::int64_t bound, bool at_least = false);
/// A value of which only the first `count` elements along `axis` are valid. If `count` is known, exactly these elements.
Value bounded(Call& c, const Part& padded, const Part& count, int axis);
/// The result of an element-wise operation: its valid extent is that of its operands.
Values elements(Call& c, const Part& result);
/// `indices` with those behind the count set to 0, so that none is out of range.
Part valid_indices(Call& c, const Value& indices);

}  // namespace cleave::models::onnx
