// Windows that slide over the spatial axes of an array, as convolutions and pooling have them: strides, dilations and padding, and what
// is wrong with them. Attributes are ONNX's. Knows no element types and no operation.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/ops/rules.h"

namespace cleave::ops {

inline constexpr std::size_t kMostSpatial = 3;

/// One axis: window `o` covers the elements `o * stride - before + k * dilation` for k < kernel; those outside are padding.
struct WindowAxis {
  std::int64_t in = 1, kernel = 1, stride = 1, dilation = 1;
  std::int64_t before = 0, after = 0;  ///< of the padding, at either end
  std::int64_t out = 1;                ///< windows

  [[nodiscard]] std::int64_t first(std::int64_t window) const { return window * stride - before; }
  [[nodiscard]] std::int64_t span() const { return (kernel - 1) * dilation + 1; }
};
/// Outermost first; where there are fewer axes, axes of one element stand in front.
struct Window : std::array<WindowAxis, kMostSpatial> {
  [[nodiscard]] std::int64_t ins() const { return at(0).in * at(1).in * at(2).in; }
  [[nodiscard]] std::int64_t taps() const { return at(0).kernel * at(1).kernel * at(2).kernel; }
  /// Whether places in the padding do not fit into 32 bits, though all sizes may.
  [[nodiscard]] bool reaches_far() const;
  [[nodiscard]] std::int64_t outs() const { return at(0).out * at(1).out * at(2).out; }
};

/// `strides`, `pads`, `dilations`, `auto_pad`.
inline constexpr AttributeDefs kWindowAttributes{
    with_default("strides", AttributeDef::Type::integers, OneInteger{1}), with_default("pads", AttributeDef::Type::integers, OneInteger{0}),
    with_default("dilations", AttributeDef::Type::integers, OneInteger{1}), with_default("auto_pad", AttributeDef::Type::text, "notset")};
/// What a pool has beside: how windows at the end are counted, and that each must cover an element.
struct Pooling {
  bool rounds_up = false;  ///< windows that reach past the padding count, if they begin before it
};
/// The windows of `kernel` elements over `extents`, or what is wrong with them. One number is for all axes; `pads` may be one an axis, for
/// both ends, or all that stand before and then all that stand behind.
std::variant<Window, TypeError> find_window(std::string_view op, Types inputs, const Attributes& attributes,
                                            std::span<const std::int64_t> extents, std::span<const std::int64_t> kernel,
                                            const Pooling* pooling = nullptr);
/// Batch, channels and spatial axes: an Error where there are not 1 to 3 of the last.
std::optional<TypeError> check_spatial(std::string_view op, Types inputs);
/// `x` of batch and `channels` with the extents of all windows.
Shape shape_of_windows(std::int64_t batch, std::int64_t channels, const Window& window, int spatial);

}  // namespace cleave::ops
