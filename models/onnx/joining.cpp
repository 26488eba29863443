// Lowerings of operators that join, split, repeat and pad.
#include <algorithm>
#include <numeric>

#include "models/onnx/lengths.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kMostWidth = std::int64_t{1} << 31;  ///< elements added to an axis

Values concat(Call& c) {
  const std::optional<int> axis = c.axis(c.integer("axis", 1), c[0].rank());
  if (!axis) return c.poison();
  return {c.operands() == 1 ? c[0] : joined(c, c.parts(), *axis)};
}

/// The extents of the parts of a split: as given, or equal; with `num_outputs` the last one may be smaller.
std::optional<Integers> lengths(Call& c, std::int64_t extent) {
  const auto count = static_cast<std::int64_t>(c.results());
  const bool counted = c.integer("num_outputs", count) == count && count > 0;
  if (c.has(1) || c.has_attribute("split")) {
    auto given = c.integers_at(1, "split", "the shapes of its results");
    if (!given) return std::nullopt;
    std::int64_t rest = extent;
    for (const std::int64_t length : *given) rest = length < 0 || length > rest ? -1 : rest - length;
    if (rest == 0 && given->size() == c.results()) return given;
    c.mistake(DiagnosticKind::shape, "`Split`: the parts do not make up an axis of " + std::to_string(extent) + " elements");
    return std::nullopt;
  }
  const std::int64_t length = counted ? (extent + count - 1) / count : 0;
  if (!counted || length * (count - 1) > extent || (c.version() < 18 && length * count != extent)) {
    c.mistake(DiagnosticKind::shape,
              "`Split`: an axis of " + std::to_string(extent) + " elements has no " + std::to_string(count) + " parts");
    return std::nullopt;
  }
  Integers result(static_cast<std::size_t>(count), length);
  result.back() = extent - length * (count - 1);
  return result;
}

Values split(Call& c) {
  const Part& x = c[0];
  const std::optional<int> axis = c.axis(c.integer("axis", 0), x.rank());
  if (!axis) return c.poison();
  if (length_of(c, x, *axis)) return c.unsupported("of an axis whose size depends on data");
  const auto parts = lengths(c, x.shape()[static_cast<std::size_t>(*axis)]);
  if (!parts) return c.poison();
  Values results;
  std::int64_t from = 0;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    results.push_back(x);
    if (c.wants(i)) results.back().part = piece(c, x, *axis, from, from + (*parts)[i]);
    from += (*parts)[i];
  }
  return results;
}

Values tile(Call& c) {
  const auto repeats = c.known_integers(1, kResultShape);
  if (!repeats) return c.poison();
  if (static_cast<int>(repeats->size()) != c[0].rank())
    return c.mistake(DiagnosticKind::shape, "`Tile` needs one number of repetitions for each axis");
  if (std::all_of(repeats->begin(), repeats->end(), [](std::int64_t n) { return n == 1; })) return {c[0]};
  return {c(op::tile, {c[0]}, {{"repetitions", *repeats}})};
}

/// Version 1: the number of repetitions along one axis.
Values tile_axis(Call& c) {
  const auto times = c.known_integers(1, kResultShape), along = c.known_integers(2, kResultShape);
  if (!times || !along) return c.poison();
  if (times->size() != 1 || along->size() != 1)
    return c.mistake(DiagnosticKind::shape, "`Tile` takes one number of repetitions and one axis");
  const std::optional<int> axis = c.axis(along->front(), c[0].rank());
  if (!axis) return c.poison();
  Integers repeats(c[0].shape().size(), 1);
  repeats[static_cast<std::size_t>(*axis)] = times->front();
  return {c(op::tile, {c[0]}, {{"repetitions", repeats}})};
}

// --- Pad -----------------------------------------------------------------------------------------------------------------------------

/// The number of elements added before and behind each axis; negative numbers remove elements.
std::optional<Integers> widths(Call& c) {
  const int rank = c[0].rank();
  const auto pads = c.integers_at(1, c.version() < 2 ? "paddings" : "pads", kResultShape);
  if (!pads) {
    if (!c.has(1)) c.mistake(DiagnosticKind::type, "`Pad` is given no widths");
    return std::nullopt;
  }
  Integers all(static_cast<std::size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  const auto given = c.has(3) ? c.known_integers(3, kResultShape) : all;
  const auto axes = given ? c.axes(*given, rank) : std::nullopt;
  if (!axes) return std::nullopt;
  if (pads->size() != 2 * axes->size()) {
    c.mistake(DiagnosticKind::shape, "`Pad` needs two widths for each axis");
    return std::nullopt;
  }
  Integers widths(2 * all.size(), 0);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = static_cast<std::size_t>((*axes)[i]);
    widths[2 * axis] = (*pads)[i];
    widths[2 * axis + 1] = (*pads)[axes->size() + i];
  }
  if (std::all_of(widths.begin(), widths.end(), [](std::int64_t width) { return width >= -kMostWidth && width <= kMostWidth; }))
    return widths;
  c.mistake(DiagnosticKind::shape, "`Pad`: the result would be too large");
  return std::nullopt;
}

/// Removes elements where `widths` are negative, and sets these widths to 0.
Part cropped(Call& c, Part x, Integers& widths) {
  for (int axis = 0; axis < x.rank(); ++axis) {
    std::int64_t& before = widths[2 * static_cast<std::size_t>(axis)];
    std::int64_t& behind = widths[2 * static_cast<std::size_t>(axis) + 1];
    const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
    const std::int64_t from = std::min(std::max<std::int64_t>(-before, 0), extent);
    x = piece(c, x, axis, from, std::max(from, extent - std::max<std::int64_t>(-behind, 0)));
    before = std::max<std::int64_t>(before, 0);
    behind = std::max<std::int64_t>(behind, 0);
  }
  return x;
}

Part with_zeros(Call& c, const Part& x, const Integers& widths, double value = 0) {
  return c(op::pad, {x}, {{"widths", widths}, {"value", value}});
}

/// Pads with one value: by `pad` if the value is known and exact in a double.
Part with_constant(Call& c, const Part& x, const Integers& widths) {
  if (!c.has(2)) return with_zeros(c, x, widths, c.number("value", 0));
  const std::optional<Array> known = c.known(2);
  constexpr double kExact = 0x1p53;
  if (known && known->size() == 1 && (is_floating(x.dtype()) || std::abs(known->at(0)) <= kExact))
    return with_zeros(c, x, widths, known->at(0));
  const Part ones = c(op::ones, std::initializer_list<Part>{}, {{"shape", x.shape()}, {"dtype", DType::boolean}});
  return c(op::where, {with_zeros(c, ones, widths), with_zeros(c, x, widths), reshaped(c, c[2], {})});
}

/// The index of the element of an axis of `extent` that padding puts at `place`, which may be outside.
std::int64_t source(const std::string& mode, std::int64_t place, std::int64_t extent) {
  if (mode == "edge") return std::clamp<std::int64_t>(place, 0, extent - 1);
  const std::int64_t period = mode == "wrap" ? extent : std::max<std::int64_t>(2 * (extent - 1), 1);
  const std::int64_t within = (place % period + period) % period;
  return within < extent ? within : period - within;
}

/// Pads with the array's own elements, axis by axis.
Part with_own(Call& c, Part x, const Integers& widths, const std::string& mode) {
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t before = widths[2 * static_cast<std::size_t>(axis)], behind = widths[2 * static_cast<std::size_t>(axis) + 1];
    const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
    if (before == 0 && behind == 0) continue;
    if (extent == 0) return c.error(DiagnosticKind::shape, "`Pad` has no elements to put around axis " + std::to_string(axis));
    constexpr std::int64_t kMostPlaces = 1 << 24;
    if (before + extent + behind > kMostPlaces) return c.error(DiagnosticKind::shape, "`Pad`: the result would be too large");
    Integers places;
    for (std::int64_t i = -before; i < extent + behind; ++i) places.push_back(source(mode, i, extent));
    x = c(op::take, {x, c.integers_constant(places)}, {{"axis", std::int64_t{axis}}});
  }
  return x;
}

Values pad(Call& c) {
  const std::string mode = c.text("mode", "constant");
  std::optional<Integers> around = widths(c);
  if (!around) return c.poison();
  const Part x = cropped(c, c[0], *around);
  const bool nothing = std::all_of(around->begin(), around->end(), [](std::int64_t width) { return width == 0; });
  if (mode != "constant") c.ignore({"value"});
  if (mode == "constant") return {nothing && c.has(2) ? x : with_constant(c, x, *around)};
  if (mode == "reflect" || mode == "edge" || mode == "wrap") return {with_own(c, x, *around, mode)};
  return c.mistake(DiagnosticKind::value, "`Pad`: `mode` is one of constant, reflect, edge, wrap, not `" + mode + "`");
}

/// Crops or pads with zeros evenly at both ends; an odd element is added behind.
Values center_crop_pad(Call& c) {
  const auto wanted = c.known_integers(1, kResultShape);
  Integers all(c[0].shape().size());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = c.axes(c.integers("axes").value_or(all), c[0].rank());
  if (!wanted || !axes) return c.poison();
  if (wanted->size() != axes->size()) return c.mistake(DiagnosticKind::shape, "`CenterCropPad` needs one extent for each axis");
  Integers widths(2 * all.size(), 0);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = static_cast<std::size_t>((*axes)[i]);
    if ((*wanted)[i] < 0) return c.mistake(DiagnosticKind::shape, "`CenterCropPad` to a negative extent");
    const std::int64_t more = (*wanted)[i] - c[0].shape()[axis];
    widths[2 * axis] = more / 2;
    widths[2 * axis + 1] = more - more / 2;
  }
  const Part x = cropped(c, c[0], widths);
  const bool whole = std::all_of(widths.begin(), widths.end(), [](std::int64_t width) { return width == 0; });
  return {whole ? x : with_zeros(c, x, widths)};
}

}  // namespace

std::span<const Lowering> joining_lowerings() {
  static constexpr Lowering kRows[] = {
      {"CenterCropPad", 18, center_crop_pad}, {"Concat", 1, concat, {}, true}, {"Pad", 1, pad},
      {"Split", 1, split, {}, true},          {"Tile", 1, tile_axis},          {"Tile", 6, tile},
      {"com.microsoft.Pad", 1, pad},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
