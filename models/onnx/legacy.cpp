// Lowerings of operators that ONNX had before version 9 and then gave up, as converters of that time wrote them (coremltools, winmltools,
// CNTK, Caffe2, MXNet, PyTorch). Most were called experimental.
#include <algorithm>

#include "models/onnx/broadcasting.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

Part product_with(Call& c, const Part& x, double factor) {
  return factor == 1 ? x : c.multiply(x, factor);
}

Part plus(Call& c, const Part& x, double number) {
  return number == 0 ? x : c.add(x, number);
}

Values affine(Call& c) {
  const double alpha = c.number("alpha", 1), beta = c.number("beta", 0);
  return {plus(c, product_with(c, c[0], alpha), beta)};
}

Values scale(Call& c) {
  return {product_with(c, c[0], c.number("scale", 1))};
}

Values scaled_tanh(Call& c) {
  const double alpha = c.number("alpha", 1), beta = c.number("beta", 1);
  return {product_with(c, c(op::tanh, {product_with(c, c[0], beta)}), alpha)};
}

Values parametric_softplus(Call& c) {
  const double alpha = c.number("alpha", 1), beta = c.number("beta", 1);
  return {product_with(c, c(op::logaddexp, {product_with(c, c[0], beta), 0}), alpha)};
}

/// A factor, and a number for each channel.
Values image_scaler(Call& c) {
  const double factor = c.number("scale", 1);
  const auto bias = c.numbers("bias");
  const Shape shape = c[0].shape();
  const Part scaled = product_with(c, c[0], factor);
  if (!bias) return {scaled};
  const auto channels = static_cast<std::int64_t>(bias->size());
  if (shape.size() != 4 || shape[1] != channels)
    return c.mistake(DiagnosticKind::shape,
                     "`ImageScaler` takes images [n, " + std::to_string(channels) + ", height, width], not " + to_string(c[0].type()));
  return {c.add(scaled, c.numbers_constant(*bias, c[0].dtype(), {channels, 1, 1}))};
}

/// Without a border (left, top, right, bottom), or from the left upper corner of it on as large as `scale` (height, width) says.
Values crop(Call& c) {
  const auto border = c.integers("border"), size = c.integers("scale");
  const Shape shape = c[0].shape();
  if (!border || border->size() != 4 || (size && size->size() != 2) || shape.size() != 4)
    return c.mistake(DiagnosticKind::value,
                     "`Crop` takes images [n, channels, height, width], 4 borders, and a `scale` of 2 extents or none");
  const auto within = [](std::int64_t extent, std::int64_t most) { return extent >= 0 && extent <= most; };
  const std::int64_t left = (*border)[0], top = (*border)[1], height = size ? (*size)[0] : 0, width = size ? (*size)[1] : 0;
  const bool possible = within(left, shape[3]) && within(top, shape[2]) && within((*border)[2], shape[3]) &&
                        within((*border)[3], shape[2]) && within(height, shape[2]) && within(width, shape[3]);
  const std::int64_t right = possible ? size ? left + width : shape[3] - (*border)[2] : 0;
  const std::int64_t bottom = possible ? size ? top + height : shape[2] - (*border)[3] : 0;
  if (!possible || right < left || bottom < top || right > shape[3] || bottom > shape[2])
    return c.mistake(DiagnosticKind::value, "`Crop`: what `border` and `scale` leave is not within " + to_string(c[0].type()));
  const Part rows = piece(c, c[0], 2, top, bottom);
  return {piece(c, rows, 3, left, right)};
}

/// The shape of a filled tensor: an attribute or that of the operand or its values, and `extra_shape`.
std::optional<Shape> filled_shape(Call& c) {
  const bool as_shape = c.flag("input_as_shape");
  std::optional<Integers> shape = c.integers("shape");
  const Integers extra = c.integers("extra_shape").value_or(Integers{});
  if (c.has(0)) shape = as_shape ? c.known_integers(0, kResultShape) : std::optional<Integers>(c[0].shape());
  if (!shape) {
    if (!c.has(0)) c.mistake(DiagnosticKind::value, "`" + std::string(c.op()) + "` has no shape");
    return std::nullopt;
  }
  shape->insert(shape->end(), extra.begin(), extra.end());
  return shape;
}

Values given_tensor_fill(Call& c) {
  const auto values = c.numbers("values");
  const auto shape = filled_shape(c);
  if (!shape) return c.poison();
  const TensorType type{DType::f32, *shape};
  if (!values || !checked_bytes(type) || type.elements() != static_cast<std::int64_t>(values->size()))
    return c.mistake(DiagnosticKind::value, "`GivenTensorFill`: the values do not fill " + to_string(*shape));
  return {c.numbers_constant(*values, DType::f32, *shape)};
}

Values constant_fill(Call& c) {
  const DType dtype = c.has_attribute("dtype") ? c.dtype("dtype").value_or(DType::f32) : DType::f32;
  const double value = c.number("value", 0);
  const auto shape = filled_shape(c);
  if (!shape) return c.poison();
  AttributeValue element = value;
  if (dtype == DType::boolean) element = value != 0;
  return {c(op::full, std::initializer_list<Part>{}, {{"shape", *shape}, {"value", element}, {"dtype", dtype}})};
}

/// PyTorch's embedding_bag: rows of a table by index, summed by bags, which begin at the offsets; empty ones give 0.
Values embedding_bag(Call& c) {
  c.ignore({"scale_grad_by_freq", "sparse"});
  const std::int64_t mode = c.integer("mode", 0);
  if (c.flag("include_last_offset")) return c.unsupported("of `embedding_bag` with `include_last_offset`");
  const Part &table = c[0], &indices = c[1], &offsets = c[2];
  if (table.rank() != 2 || indices.rank() != 1 || offsets.rank() != 1 || mode < 0 || mode > 1)
    return c.mistake(DiagnosticKind::value,
                     "`embedding_bag` takes a table, vectors of indices and offsets, and `mode` 0 (sum) or 1 (mean)");
  const std::int64_t bags = offsets.shape()[0], width = table.shape()[1];
  const Part places = c(op::arange, std::initializer_list<Part>{}, {{"start", indices.shape()[0]}, {"dtype", offsets.dtype()}});
  const Part bag = c.subtract(c(op::searchsorted, {offsets, places}, {{"side", std::string("right")}}), 1);
  const auto zeros = [&](Shape shape) {
    return c(op::zeros, std::initializer_list<Part>{}, {{"shape", std::move(shape)}, {"dtype", table.dtype()}});
  };
  const Part rows = c(op::take, {table, indices}, {{"axis", std::int64_t{0}}});
  const Part sums = c(op::scatter_add, {zeros({bags, width}), bag, rows});
  if (mode == 0) return {sums, Value(), Value(), Value()};
  const Part ones = c.as(table.dtype(), c(op::greater_equal, {bag, 0}));
  const Part counts = c(op::scatter_add, {zeros({bags}), bag, ones});
  const Part divisors = c.reshape(c(op::maximum, {counts, 1}), {bags, 1});
  return {c.divide(sums, divisors), Value(), Value(), Value()};
}

Values aten(Call& c) {
  const std::string name = c.text("operator", "?");
  if (name == "embedding_bag") return embedding_bag(c);
  return c.unsupported("of PyTorch's operator `" + name + "`; export the model again, without the fallback to ATen:");
}

}  // namespace

std::span<const Lowering> legacy_lowerings() {
  static constexpr Lowering kRows[] = {
      {"ATen", 1, aten},
      {"Affine", 1, affine},
      {"ConstantFill", 1, constant_fill},
      {"Crop", 1, crop},
      {"GivenTensorFill", 1, given_tensor_fill},
      {"ImageScaler", 1, image_scaler},
      {"ParametricSoftplus", 1, parametric_softplus},
      {"Scale", 1, scale},
      {"ScaledTanh", 1, scaled_tanh},
      {"org.pytorch.aten.ATen", 1, aten},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
