#include "models/onnx/convolution.h"

#include <algorithm>
#include <numeric>

#include "models/onnx/quantized_origin.h"
#include "models/onnx/windows.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

/// Whether the node's `kernel_shape`, if present, is that of the weight. If not, reports it.
bool kernel_fits(Call& c, const Part& window_weight) {
  const auto kernel = c.integers("kernel_shape");
  const Shape weight = window_weight.shape();
  if (!kernel || kernel->empty() || (weight.size() >= 2 && std::equal(kernel->begin(), kernel->end(), weight.begin() + 2, weight.end())))
    return true;
  c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "`: `kernel_shape` is " + to_string(Shape(*kernel)) +
                                       ", and the weight is " + to_string(window_weight.type()));
  return false;
}

}  // namespace

std::optional<Attributes> conv_attributes(Call& c, const Part& weight) {
  Attributes attributes = window_attributes(c);
  if (const std::int64_t groups = c.integer("group", 1); groups != 1) attributes.set("group", groups);
  return kernel_fits(c, weight) ? std::optional(std::move(attributes)) : std::nullopt;
}

namespace {

std::int64_t product(std::span<const std::int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

Values conv(Call& c) {
  std::optional<Attributes> attributes = conv_attributes(c, c[1]);
  if (!attributes) return c.poison();
  if (std::optional<Values> y = product_of_integers(c, op::quantized_conv, {}, *attributes)) return *std::move(y);
  return {c(op::conv, c.parts(), *std::move(attributes))};
}

// --- transposed --------------------------------------------------------------------------------------------------------------------------

/// Sets the paddings that give a result of the `wanted` extents. Excess is cut at both ends; an odd element is cut in front, or behind for
/// `auto_pad` SAME_UPPER. Missing elements are added behind (output_padding).
void pad_to(const Shape& wanted, const Shape& x, const Shape& weight, Attributes& attributes) {
  const std::size_t axes = wanted.size();
  const auto each = [&](const char* name, std::int64_t otherwise) {
    Integers numbers = attributes.get_or<Integers>(name, {});
    numbers.resize(axes, otherwise);
    return numbers;
  };
  const Integers strides = each("strides", 1), dilations = each("dilations", 1);
  const bool odd_behind = attributes.get_or<std::string>("auto_pad", "") == "same_upper";
  Integers extra = each("output_padding", 0), pads(2 * axes, 0);
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t total = strides[i] * (x[i + 2] - 1) + extra[i] + (weight[i + 2] - 1) * dilations[i] + 1 - wanted[i];
    if (total < 0) extra[i] -= total;
    const std::int64_t half = std::max<std::int64_t>(total, 0) / 2, rest = std::max<std::int64_t>(total, 0) - half;
    pads[i] = odd_behind ? half : rest;
    pads[axes + i] = odd_behind ? rest : half;
  }
  attributes.set("pads", std::move(pads));
  attributes.set("output_padding", std::move(extra));
}

Values conv_transpose(Call& c) {
  Attributes attributes = window_attributes(c);
  if (const std::int64_t groups = c.integer("group", 1); groups != 1) attributes.set("group", groups);
  if (auto extra = c.integers("output_padding"); extra && !extra->empty()) attributes.set("output_padding", *std::move(extra));
  auto wanted = c.integers("output_shape");
  if (!kernel_fits(c, c[1])) return c.poison();
  const Shape x = c[0].shape(), weight = c[1].shape();
  const auto automatic = attributes.get_or<std::string>("auto_pad", "valid");
  const std::size_t axes = x.size() < 2 ? 0 : x.size() - 2;
  const auto strides = attributes.get_or<Integers>("strides", Integers(axes, 1));
  if (automatic != "valid" && (!wanted || wanted->empty())) {
    wanted.emplace();
    for (std::size_t i = 0; i < std::min(axes, strides.size()); ++i) wanted->push_back(x[i + 2] * strides[i]);
  }
  if (wanted && !wanted->empty()) {
    if (wanted->size() == x.size()) wanted->erase(wanted->begin(), wanted->begin() + 2);  // some files have batch and channels in front
    if (wanted->size() != axes || weight.size() != x.size())
      return c.mistake(DiagnosticKind::shape, "`ConvTranspose`: `output_shape` has " + std::to_string(wanted->size()) + " numbers for " +
                                                  std::to_string(axes) + " spatial axes");
    pad_to(*wanted, x, weight, attributes);
  }
  attributes.erase("auto_pad");
  return {c(op::conv_transpose, c.parts(), std::move(attributes))};
}

// --- deformable --------------------------------------------------------------------------------------------------------------------------

/// Sampling positions of the kernel's taps before offsets are added, in grid_sample's coordinates: [taps, rows, columns, 2] of column and
/// row.
Part undeformed_places(Call& c, const Shape& in, const Shape& kernel, const Shape& out, const Attributes& window) {
  const auto strides = window.get_or<Integers>("strides", {1, 1}), dilations = window.get_or<Integers>("dilations", {1, 1}),
             pads = window.get_or<Integers>("pads", {0, 0, 0, 0});
  const auto normal = [&](std::size_t axis, std::int64_t at, std::int64_t tap) {
    const std::int64_t place = at * strides[axis] - pads[axis] + tap * dilations[axis];
    return static_cast<double>(2 * place + 1) / static_cast<double>(in[axis]) - 1;
  };
  std::vector<double> places;
  for (std::int64_t tap = 0; tap < product(kernel); ++tap)
    for (std::int64_t row = 0; row < out[0]; ++row)
      for (std::int64_t column = 0; column < out[1]; ++column) {
        places.push_back(normal(1, column, tap % kernel[1]));
        places.push_back(normal(0, row, tap / kernel[1]));
      }
  return c.numbers_constant(places, c[0].dtype(), {product(kernel), out[0], out[1], 2});
}

/// Samples the image at the offset position of each tap, then multiplies the samples by the weight, group by group.
Values deform_conv(Call& c) {
  const Attributes window = window_attributes(c);
  const std::int64_t groups = c.integer("group", 1), moved = c.integer("offset_group", 1);
  if (!kernel_fits(c, c[1])) return c.poison();
  const Shape x = c[0].shape(), weight = c[1].shape(), offset = c[2].shape();
  if (x.size() != 4 || weight.size() != 4 || offset.size() != 4) return c.unsupported("of other than images with rows and columns");
  const Shape kernel = {weight[2], weight[3]}, out = {offset[2], offset[3]};
  const std::int64_t taps = product(kernel), images = x[0] * moved;
  if (moved < 1 || groups < 1 || x[1] % moved != 0 || x[1] % groups != 0 || weight[0] % groups != 0 || offset[1] != 2 * moved * taps)
    return c.mistake(DiagnosticKind::shape, "`DeformConv`: " + to_string(c[0].type()) + ", a weight of " + to_string(c[1].type()) +
                                                " and offsets of " + to_string(c[2].type()) + " do not fit each other");
  const Part rows_columns = c.reshape(c[2], {images, taps, 2, out[0], out[1]});
  const Part moves = c(op::flip, {c(op::permute_dims, {rows_columns}, {{"axes", Integers{0, 1, 3, 4, 2}}})}, {{"axis", Integers{-1}}});
  const Part steps = c.numbers_constant({2.0 / static_cast<double>(x[3]), 2.0 / static_cast<double>(x[2])}, c[0].dtype(), {2});
  const Part places = c.add(c.multiply(moves, steps), undeformed_places(c, {x[2], x[3]}, kernel, out, window));
  Part samples =
      c(op::grid_sample, {c.reshape(c[0], {images, x[1] / moved, x[2], x[3]}), c.reshape(places, {images, taps * out[0], out[1], 2})});
  if (c.has(4)) samples = c.multiply(samples, c.reshape(c[4], {images, 1, taps * out[0], out[1]}));
  samples = c.reshape(samples, {x[0], groups, x[1] / groups * taps, out[0] * out[1]});
  Part y = c(op::matmul, {c.reshape(c[1], {groups, weight[0] / groups, weight[1] * taps}), samples});
  y = c.reshape(y, {x[0], weight[0], out[0], out[1]});
  return {c.has(3) ? c.add(y, c.reshape(c[3], {weight[0], 1, 1})) : y};
}

// --- columns to images -------------------------------------------------------------------------------------------------------------------

/// One axis of the image that Col2Im assembles from overlapping blocks.
struct GroupBlocks {
  std::int64_t extent, kernel, stride, dilation, before, count;
  [[nodiscard]] std::int64_t place(std::int64_t window, std::int64_t tap) const { return window * stride - before + tap * dilation; }
};

/// The position in the image of each tap of each window, in row-major order; `behind`, a position past the image, for taps in the padding.
Integers places_of(const std::vector<GroupBlocks>& axes, std::int64_t behind) {
  Integers places;
  std::int64_t taps = 1, windows = 1;
  for (const GroupBlocks& axis : axes) taps *= axis.kernel, windows *= axis.count;
  for (std::int64_t tap = 0; tap < taps; ++tap)
    for (std::int64_t window = 0; window < windows; ++window) {
      std::int64_t place = 0, step = 1, t = tap, w = window;
      for (std::size_t i = axes.size(); i-- > 0; t /= axes[i].kernel, w /= axes[i].count, step *= axes[i].extent) {
        const std::int64_t at = axes[i].place(w % axes[i].count, t % axes[i].kernel);
        place = at < 0 || at >= axes[i].extent || place == behind ? behind : place + at * step;
      }
      places.push_back(place);
    }
  return places;
}

/// Overlapping elements are summed: one scatter with addition, to positions known while the file is read.
Values col2im(Call& c) {
  const auto image = c.known_integers(1, "the shape of its result");
  const auto block = image ? c.known_integers(2, "the shape of its result") : std::nullopt;
  const Attributes window = window_attributes(c);
  if (!block) return c.poison();
  const std::size_t axes = image->size();
  const auto strides = window.get_or<Integers>("strides", Integers(axes, 1)),
             dilations = window.get_or<Integers>("dilations", Integers(axes, 1)),
             pads = window.get_or<Integers>("pads", Integers(2 * axes, 0));
  const Shape x = c[0].shape();
  const std::int64_t taps = product(*block), elements = product(*image);
  const auto wrong = [&] {
    return c.mistake(DiagnosticKind::shape, "`Col2Im`: " + to_string(c[0].type()) + " are not the blocks " + to_string(Shape(*block)) +
                                                " of an image " + to_string(Shape(*image)));
  };
  if (block->size() != axes || strides.size() != axes || dilations.size() != axes || pads.size() != 2 * axes || x.size() != 3)
    return wrong();
  std::vector<GroupBlocks> all;
  std::int64_t windows = 1;
  for (std::size_t i = 0; i < axes; ++i) {
    if ((*image)[i] < 1 || (*block)[i] < 1 || strides[i] < 1) return wrong();
    const std::int64_t room = (*image)[i] + pads[i] + pads[axes + i] - dilations[i] * ((*block)[i] - 1) - 1;
    all.push_back({(*image)[i], (*block)[i], strides[i], dilations[i], pads[i], room < 0 ? 0 : room / strides[i] + 1});
    windows *= all.back().count;
  }
  if (x[2] != windows || x[1] % taps != 0) return wrong();
  Shape shape = {x[0], x[1] / taps};
  const Part zeros = c(op::zeros, {}, {{"shape", Shape{x[0], x[1] / taps, elements + 1}}, {"dtype", c[0].dtype()}});
  const Part columns = c.reshape(c[0], {x[0], x[1] / taps, taps * windows});
  const Part summed = c(op::scatter_add, {zeros, c.integers_constant(places_of(all, elements)), columns}, {{"axis", std::int64_t{2}}});
  const Part inside = c(op::slice, {summed}, {{"starts", Integers{0, 0, 0}}, {"stops", Integers{shape[0], shape[1], elements}}});
  shape.insert(shape.end(), image->begin(), image->end());
  return {c.reshape(inside, shape)};
}

}  // namespace

std::span<const Lowering> convolution_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Col2Im", 18, col2im},
      {"Conv", 1, conv},
      {"ConvTranspose", 1, conv_transpose},
      {"DeformConv", 19, deform_conv},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
