// Lowerings of pools: over windows, whole channels and regions; and of the inverse, MaxUnpool.
#include "graph/ops/pooling.h"

#include <algorithm>
#include <numeric>

#include "models/onnx/windows.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

/// Whether each window has one element, as exporters write adaptive pools whose input already has the size: then the pool does nothing.
bool takes_all_as_it_is(const Attributes& attributes) {
  const auto all = [&](const char* name, std::int64_t number) {
    const auto numbers = attributes.get_or<Integers>(name, {});
    return std::all_of(numbers.begin(), numbers.end(), [number](std::int64_t each) { return each == number; });
  };
  return all("kernel_shape", 1) && all("strides", 1) && all("pads", 0);
}

Values average_pool(Call& c) {
  auto attributes = pool_attributes(c);
  if (!attributes) return c.poison();
  attributes->set("count_include_pad", c.flag("count_include_pad"));
  if (takes_all_as_it_is(*attributes) && c[0].rank() == 2 + static_cast<int>(attributes->get<Integers>("kernel_shape").size()))
    return {c[0]};
  return {c(op::avg_pool, {c[0]}, *std::move(attributes))};
}

// --- max_pool with indices ---------------------------------------------------------------------------------------------------------------

/// The positions in the channel that each window covers, [windows, taps] in row-major order. Taps in the padding repeat the first covered
/// position, so that the index of the first largest element stays correct. Nothing if a window covers no element.
std::optional<Integers> covered_places(const ops::Window& window) {
  Integers places;
  for (std::int64_t p = 0; p < window.outs(); ++p) {
    const std::int64_t row = p / window[2].out, at[] = {row / window[1].out, row % window[1].out, p % window[2].out};
    Integers found;
    for (std::int64_t tap = 0; tap < window.taps(); ++tap) {
      const std::int64_t upper = tap / window[2].kernel,
                         taps[] = {upper / window[1].kernel, upper % window[1].kernel, tap % window[2].kernel};
      std::int64_t place = 0;
      for (std::size_t axis = 0; axis < ops::kMostSpatial; ++axis) {
        const std::int64_t on_axis = window[axis].first(at[axis]) + taps[axis] * window[axis].dilation;
        place = place < 0 || on_axis < 0 || on_axis >= window[axis].in ? -1 : place * window[axis].in + on_axis;
      }
      if (place >= 0) found.push_back(place);
    }
    if (found.empty()) return std::nullopt;
    places.insert(places.end(), static_cast<std::size_t>(window.taps()) - found.size(), found[0]);
    places.insert(places.end(), found.begin(), found.end());
  }
  return places;
}

/// The same position counted in column-major order: ONNX's `storage_order` 1.
std::int64_t by_columns(const ops::Window& window, std::int64_t place) {
  const std::int64_t last = place % window[2].in, upper = place / window[2].in, middle = upper % window[1].in, first = upper / window[1].in;
  const bool three = window[0].in > 1;
  return three ? first + window[0].in * (middle + window[1].in * last) : middle + window[1].in * last;
}

/// Indices of the largest elements, counted through all of x.
std::optional<Part> indices_of_largest(Call& c, const Shape& result, const Attributes& attributes, bool columns) {
  const ops::Window window = ops::pool_window(c[0].type(), attributes);
  const auto places = covered_places(window);
  if (!places) return std::nullopt;
  const Shape x = c[0].shape();
  const std::int64_t windows = window.outs(), taps = window.taps();
  const auto largest = [&] {
    const Part flat = c.reshape(c[0], {x[0], x[1], window.ins()});
    const Part elements = c(op::take, {flat, c.integers_constant(*places)}, {{"axis", std::int64_t{2}}});
    return c(op::argmax, {c.reshape(elements, {x[0], x[1], windows, taps})}, {{"axis", Integers{-1}}, {"keepdims", true}});
  };
  Integers counted = *places, channels(static_cast<std::size_t>(x[0] * x[1]));
  if (columns)
    std::transform(counted.begin(), counted.end(), counted.begin(), [&](std::int64_t place) { return by_columns(window, place); });
  for (std::size_t i = 0; i < channels.size(); ++i) channels[i] = static_cast<std::int64_t>(i) * window.ins();
  const Part table = c.reshape(c.integers_constant(counted), {1, 1, windows, taps});
  const Part in_channel = taps == 1 ? table : c(op::take_along_axis, {table, largest()});
  return c.reshape(c.add(in_channel, c.reshape(c.integers_constant(channels), {x[0], x[1], 1, 1})), result);
}

Values max_pool(Call& c) {
  const auto attributes = pool_attributes(c);
  const bool columns = c.flag("storage_order");
  if (!attributes) return c.poison();
  const Part y = c.as(c[0].dtype(), c(op::max_pool, {c[0]}, *attributes));  // integers give f32
  if (!c.wants(1) || y.operand().poisoned()) return {y, Value()};
  const auto indices = indices_of_largest(c, y.shape(), *attributes, columns);
  return indices ? Values{y, *indices} : c.unsupported("with indices of a window that lies in the padding");
}

// --- norms -------------------------------------------------------------------------------------------------------------------------------

/// `p` was a floating-point attribute in version 1.
double exponent(Call& c) {
  return c.version() < 2 ? c.number("p", 2) : static_cast<double>(c.integer("p", 2));
}

/// Window attributes with explicit padding, so that each window has all of its taps: the last one ends at or behind the end of x.
Attributes whole_windows(const ops::Window& window, std::size_t axes, Attributes attributes) {
  Integers pads(2 * axes, 0);
  for (std::size_t i = 0; i < axes; ++i) {
    const ops::WindowAxis& axis = window[ops::kMostSpatial - axes + i];
    pads[i] = axis.before;
    pads[axes + i] = std::max<std::int64_t>(0, (axis.out - 1) * axis.stride - axis.before + axis.span() - axis.in);
  }
  attributes.set("pads", std::move(pads));
  attributes.set("count_include_pad", true);
  attributes.set("ceil_mode", false);
  attributes.erase("auto_pad");
  return attributes;
}

/// The sum of powers is the mean over each padded window times its number of taps.
Values lp_pool(Call& c) {
  auto attributes = pool_attributes(c);
  const double p = exponent(c);
  if (!attributes) return c.poison();
  attributes->set("count_include_pad", true);
  const Part x = c(op::abs, {c[0]});
  const Part powers = p == 1 ? x : p == 2 ? c(op::square, {c[0]}) : c(op::pow, {x, c.number_as(x.dtype(), p)});
  Part mean = c(op::avg_pool, {powers}, *attributes);
  if (mean.operand().poisoned()) return c.poison();
  const ops::Window window = ops::pool_window(c[0].type(), *attributes);
  if (attributes->get<bool>("ceil_mode"))
    mean = c(op::avg_pool, {powers}, whole_windows(window, static_cast<std::size_t>(c[0].rank() - 2), *attributes));
  const Part sum = c.multiply(mean, c.number_as(x.dtype(), static_cast<double>(window.taps())));
  return {p == 1 ? sum : p == 2 ? c(op::sqrt, {sum}) : c(op::pow, {sum, c.number_as(x.dtype(), 1 / p)})};
}

Attributes over_channels(const Part& x) {
  Integers axes(static_cast<std::size_t>(std::max(0, x.rank() - 2)));
  std::iota(axes.begin(), axes.end(), std::int64_t{2});
  return {{"axis", std::move(axes)}, {"keepdims", true}};
}

Values global_lp_pool(Call& c) {
  Attributes attributes = over_channels(c[0]);
  attributes.set("ord", exponent(c));
  return {c(op::vector_norm, {c[0]}, std::move(attributes))};
}

/// The mean or maximum of each channel, for any number of spatial axes.
Values global_pool(Call& c) {
  return {c(c.function(), {c[0]}, over_channels(c[0]))};
}

// --- unpooling ---------------------------------------------------------------------------------------------------------------------------

/// Writes each element to its index in the pool's input shape; all other elements are 0.
Values max_unpool(Call& c) {
  const auto kernel = c.integers("kernel_shape");
  const Attributes window = window_attributes(c);
  const Shape x = c[0].shape();
  if (!kernel || x.size() != kernel->size() + 2) return c.mistake(DiagnosticKind::value, "`MaxUnpool` needs a `kernel_shape` for its axes");
  const std::size_t axes = kernel->size();
  const auto strides = window.get_or<Integers>("strides", Integers(axes, 1)), pads = window.get_or<Integers>("pads", Integers(2 * axes, 0));
  if (strides.size() != axes || pads.size() != 2 * axes)
    return c.mistake(DiagnosticKind::value, "`MaxUnpool`: `strides` or `pads` do not fit");
  Shape shape = {x[0], x[1]};
  for (std::size_t i = 0; i < axes; ++i) shape.push_back((x[i + 2] - 1) * strides[i] - pads[i] - pads[axes + i] + (*kernel)[i]);
  const std::int64_t elements = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  const Part zeros = c(op::zeros, {}, {{"shape", Shape{elements}}, {"dtype", c[0].dtype()}});
  const Part flat = c(op::scatter, {zeros, c.reshape(c[1], {-1}), c.reshape(c[0], {-1})});
  const Part y = c.reshape(flat, shape);
  if (!c.has(2)) return {y};
  const auto wanted = c.known_integers(2, "the shape of its result");
  if (!wanted) return c.poison();
  Integers widths;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (wanted->size() != shape.size() || (*wanted)[i] < shape[i])
      return c.unsupported("to " + to_string(Shape(*wanted)) + ", where its windows give " + to_string(shape) + ",");
    widths.insert(widths.end(), {0, (*wanted)[i] - shape[i]});
  }
  return {*wanted == shape ? y : c(op::pad, {y}, {{"widths", std::move(widths)}})};
}

// --- regions -----------------------------------------------------------------------------------------------------------------------------

Values roi_align(Call& c) {
  const std::string mode = c.text("mode", "avg");
  const std::string coordinates = c.version() < 16 ? "output_half_pixel" : c.text("coordinate_transformation_mode", "half_pixel");
  return {c(op::roi_align, {c[0], c[1], c[2]},
            {{"output_height", c.integer("output_height", 1)},
             {"output_width", c.integer("output_width", 1)},
             {"sampling_ratio", c.integer("sampling_ratio", 0)},
             {"spatial_scale", c.number("spatial_scale", 1)},
             {"mode", mode},
             {"coordinates", coordinates}})};
}

/// A mask [regions, bins, extent]: the elements along an axis that are in each bin of each region.
Part in_bins(Call& c, const Part& first, const Part& last, std::int64_t bins, std::int64_t extent) {
  const Part size = c(op::maximum, {c.add(c.subtract(last, first), 1), 1});
  const Part step = c.divide(size, static_cast<double>(bins));
  const Part bin = c.reshape(c(op::arange, {}, {{"start", bins}, {"dtype", first.dtype()}}), {bins, 1});
  const Part at = c(op::arange, {}, {{"start", extent}, {"dtype", first.dtype()}});
  const Part begin = c.add(c(op::floor, {c.multiply(bin, step)}), first),
             end = c.add(c(op::ceil, {c.multiply(c.add(bin, 1), step)}), first);
  return c(op::logical_and, {c(op::greater_equal, {at, begin}), c(op::less, {at, end})});
}

/// The largest element of each bin, 0 for an empty bin: first along the rows, then along the columns.
Values max_roi_pool(Call& c) {
  const auto pooled = c.integers("pooled_shape");
  const double scale = c.number("spatial_scale", 1);
  const Shape x = c[0].shape(), regions = c[1].shape();
  if (!pooled || pooled->size() != 2 || x.size() != 4 || regions.size() != 2 || regions[1] != 5)
    return c.mistake(DiagnosticKind::shape, "`MaxRoiPool` takes images, regions of 5 numbers, and a `pooled_shape` of 2");
  const auto column = [&](std::int64_t at) {
    return c(op::slice, {c[1]}, {{"starts", Integers{0, at}}, {"stops", Integers{regions[0], at + 1}}});
  };
  const auto corner = [&](std::int64_t at) {  // rounded, halves away from 0
    const Part place = c.multiply(column(at), scale);
    return c.reshape(c(op::trunc, {c.add(place, c(op::copysign, {c.number_as(place.dtype(), 0.5), place}))}), {regions[0], 1, 1});
  };
  const Part image = c.as(DType::i64, c.reshape(column(0), {regions[0]}));
  const Part images = c(op::take, {c[0], image}, {{"axis", std::int64_t{0}}});
  const Part low = c(op::full, {}, {{"shape", Shape{}}, {"value", -std::numeric_limits<double>::infinity()}, {"dtype", c[0].dtype()}});
  const Part in_rows = c.reshape(in_bins(c, corner(2), corner(4), (*pooled)[0], x[2]), {regions[0], 1, (*pooled)[0], x[2], 1});
  const Part in_columns = c.reshape(in_bins(c, corner(1), corner(3), (*pooled)[1], x[3]), {regions[0], 1, 1, (*pooled)[1], x[3]});
  const Part by_rows = c(op::where, {in_rows, c.reshape(images, {regions[0], x[1], 1, x[2], x[3]}), low});
  const Part rows = c(op::max, {by_rows}, {{"axis", Integers{3}}});
  const Part by_columns_too = c(op::where, {in_columns, c.reshape(rows, {regions[0], x[1], (*pooled)[0], 1, x[3]}), low});
  const Part most = c(op::max, {by_columns_too}, {{"axis", Integers{4}}});
  return {c(op::where, {c(op::equal, {most, low}), c.number_as(c[0].dtype(), 0), most})};
}

}  // namespace

std::span<const Lowering> pooling_lowerings() {
  static constexpr Lowering kRows[] = {
      {"AveragePool", 1, average_pool},
      {"GlobalAveragePool", 1, global_pool, &op::mean},
      {"GlobalLpPool", 1, global_lp_pool},
      {"GlobalMaxPool", 1, global_pool, &op::max},
      {"LpPool", 1, lp_pool},
      {"MaxPool", 1, max_pool},
      {"MaxRoiPool", 1, max_roi_pool},
      {"MaxUnpool", 9, max_unpool},
      {"RoiAlign", 10, roi_align},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
