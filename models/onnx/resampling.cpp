// Lowerings of Resize and Upsample: translates the attributes of each version to those of the vocabulary's `resize`.
#include <algorithm>
#include <cmath>

#include "models/onnx/call.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

/// The sizes, scales and regions for all axes of x.
struct Resizing {
  std::optional<Integers> sizes;
  std::optional<Numbers> scales;
  std::optional<Numbers> region;  ///< all starts, then all ends

  [[nodiscard]] bool stays(std::size_t axis, const Shape& shape) const {
    const std::size_t rank = shape.size();
    return (!sizes || (*sizes)[axis] == shape[axis]) && (!scales || (*scales)[axis] == 1) &&
           (!region || ((*region)[axis] == 0 && (*region)[rank + axis] == 1));
  }
  /// Removes the axes before `first`.
  void drop(std::size_t first, std::size_t rank) {
    const auto cut = [&](auto& numbers, std::size_t from, std::size_t count) {
      numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(from), numbers.begin() + static_cast<std::ptrdiff_t>(from + count));
    };
    if (sizes) cut(*sizes, 0, first);
    if (scales) cut(*scales, 0, first);
    if (region) cut(*region, rank, first), cut(*region, 0, first);
  }
};

/// Resizes the axes of `x` from the first one that changes. Interpolated integers are rounded.
Part resized(Call& c, const Part& x, Resizing how, Attributes attributes) {
  const Shape shape = x.shape();
  std::size_t first = 0;
  while (first < shape.size() && how.stays(first, shape)) ++first;
  if (first == shape.size()) return x;
  how.drop(first, shape.size());
  if (how.sizes) attributes.set("sizes", *std::move(how.sizes));
  if (how.scales) attributes.set("scales", *std::move(how.scales));
  if (how.region) attributes.set("roi", *std::move(how.region));
  const DType dtype = x.dtype();
  if (is_floating(dtype) || attributes.get<std::string>("mode") == "nearest") return c(op::resize, {x}, std::move(attributes));
  return c.as(dtype, c(op::round, {c(op::resize, {c.as(DType::f32, x)}, std::move(attributes))}));
}

/// `all` with the values of `axes` replaced by `given`.
template <class T>
std::optional<std::vector<T>> spread(const std::vector<T>& given, const Integers& axes, std::vector<T> all) {
  if (given.size() != axes.size()) return std::nullopt;
  for (std::size_t i = 0; i < axes.size(); ++i) all[static_cast<std::size_t>(axes[i])] = given[i];
  return all;
}

/// Keeps the aspect ratio: one scale for all `axes`, with extents rounded to it.
void keep_proportions(Resizing& how, const Integers& axes, const Shape& shape, bool not_larger) {
  double scale = not_larger ? HUGE_VAL : 0;
  for (const std::int64_t axis : axes) {
    const auto i = static_cast<std::size_t>(axis);
    const double one = static_cast<double>((*how.sizes)[i]) / static_cast<double>(shape[i]);
    scale = not_larger ? std::min(scale, one) : std::max(scale, one);
  }
  how.scales.emplace(shape.size(), 1.0);
  for (const std::int64_t axis : axes) {
    const auto i = static_cast<std::size_t>(axis);
    (*how.scales)[i] = scale;
    (*how.sizes)[i] = static_cast<std::int64_t>(std::floor(scale * static_cast<double>(shape[i]) + 0.5));
  }
}

/// The sizes or scales, and the region, from the operands. Nothing after a mistake.
std::optional<Resizing> resizing_of(Call& c, const std::string& coordinates) {
  const Shape shape = c[0].shape();
  const std::size_t rank = shape.size();
  Integers every(rank);
  for (std::size_t i = 0; i < rank; ++i) every[i] = static_cast<std::int64_t>(i);
  const auto given = c.integers("axes");
  const auto axes = given ? c.axes(*given, static_cast<int>(rank)) : std::optional(every);
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  const bool old = c.version() < 11, has_sizes = !old && c.has(3) && c[3].type().elements() > 0;
  const std::size_t at = old ? 1 : has_sizes ? 3 : 2;
  const auto wrong = [&](const std::string& reason) {
    c.mistake(DiagnosticKind::value, "`" + std::string(c.op()) + "` " + reason);
    return std::nullopt;
  };
  if (!axes) return std::nullopt;
  if (!c.has(at)) return wrong("is given neither scales nor sizes");
  Resizing how;
  if (has_sizes) {
    const auto sizes = c.known_integers(at, "the shape of its result");
    if (!sizes) return std::nullopt;
    how.sizes = spread(*sizes, *axes, Integers(shape));
  } else {
    const auto scales = c.known_numbers(at, "the shape of its result");
    if (!scales) return std::nullopt;
    how.scales = spread(*scales, *axes, Numbers(rank, 1.0));
  }
  if (!how.sizes && !how.scales) return wrong("takes a number for each of its " + std::to_string(axes->size()) + " axes");
  if (coordinates == "tf_crop_and_resize") {
    const auto region = c.has(1) ? c.known_numbers(1, "what it takes of its input") : Numbers();
    if (!region) return std::nullopt;
    if (region->size() != 2 * axes->size()) return wrong("takes a `roi` of two numbers for each of its axes");
    const auto half = region->begin() + static_cast<std::ptrdiff_t>(axes->size());
    const auto begins = spread(Numbers(region->begin(), half), *axes, Numbers(rank, 0.0));
    const auto ends = spread(Numbers(half, region->end()), *axes, Numbers(rank, 1.0));
    how.region = *begins;
    how.region->insert(how.region->end(), ends->begin(), ends->end());
  }
  if (policy == "stretch" || !how.sizes) return how;
  if (policy != "not_larger" && policy != "not_smaller") return wrong("has no `keep_aspect_ratio_policy` of `" + policy + "`");
  if (c[0].type().elements() == 0) return wrong("cannot keep the proportions of nothing");
  keep_proportions(how, *axes, shape, policy == "not_larger");
  return how;
}

std::string mode_of(Call& c) {
  const std::string mode = c.text("mode", "nearest");
  return mode == "bilinear" || mode == "trilinear" ? "linear" : mode;
}

/// Attributes for versions below 11: elements start at their positions, and for enlargement the nearest element is the one before.
Attributes by_old_rules(Call& c) {
  return {{"mode", mode_of(c)}, {"coordinate_transformation_mode", std::string("asymmetric")}, {"nearest_mode", std::string("floor")}};
}

/// For reduction, the nearest element is the one behind: those versions do not say so, but ONNX Runtime has always done this.
Part by_scales(Call& c, Numbers scales, Attributes attributes) {
  Resizing fewer, more;
  fewer.scales = more.scales = std::move(scales);
  for (double& scale : *fewer.scales) scale = std::min(scale, 1.0);
  for (double& scale : *more.scales) scale = std::max(scale, 1.0);
  const Part larger = resized(c, c[0], std::move(more), attributes);
  attributes.set("nearest_mode", std::string("ceil"));
  return resized(c, larger, std::move(fewer), std::move(attributes));
}

Values resize(Call& c) {
  const bool old = c.version() < 11;
  const std::string coordinates = old ? "asymmetric" : c.text("coordinate_transformation_mode", "half_pixel");
  Attributes attributes = by_old_rules(c);
  if (!old) {
    attributes.set("coordinate_transformation_mode", coordinates);
    attributes.set("nearest_mode", c.text("nearest_mode", "round_prefer_floor"));
    attributes.set("cubic_coeff_a", c.number("cubic_coeff_a", -0.75));
    attributes.set("exclude_outside", c.flag("exclude_outside"));
    attributes.set("antialias", c.flag("antialias"));
    attributes.set("extrapolation_value", c.number("extrapolation_value", 0));
  }
  auto how = resizing_of(c, coordinates);
  if (!how) return c.poison();
  return {old ? by_scales(c, *std::move(how->scales), attributes) : resized(c, c[0], *std::move(how), std::move(attributes))};
}

Values upsample(Call& c) {
  Attributes attributes = by_old_rules(c);
  std::optional<Numbers> scales;
  if (c.version() < 7) {
    scales = Numbers{1, 1, c.number("height_scale", 1), c.number("width_scale", 1)};
  } else {
    scales = c.version() < 9 ? c.numbers("scales") : c.known_numbers(1, "the shape of its result");
    if (!scales && c.version() >= 9) return c.poison();
  }
  if (!scales || scales->size() != c[0].shape().size())
    return c.mistake(DiagnosticKind::value, "`Upsample` takes a scale for each of the axes of " + to_string(c[0].type()));
  return {by_scales(c, *std::move(scales), std::move(attributes))};
}

}  // namespace

std::span<const Lowering> resampling_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Resize", 10, resize},
      {"Upsample", 1, upsample},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
