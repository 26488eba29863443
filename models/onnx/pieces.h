// Slices and permutations that several families of lowerings share.
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

}  // namespace cleave::models::onnx
