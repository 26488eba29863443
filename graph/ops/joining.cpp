// concat, stack, pad, repeat and tile: larger tensors made of copies of their operands.
#include "graph/base/stop.h"
#include "graph/ops/convert.h"
#include "graph/ops/forms.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/ops/strided.h"

namespace cleave::ops {
namespace {

using Type = AttributeDef::Type;

/// Refuses operands of different element types or shapes; extents along `free_axis` may differ.
std::optional<TypeError> alike(std::string_view op, Types inputs, int free_axis) {
  for (const TensorType& input : inputs) {
    if (input.dtype != inputs[0].dtype) return refuse(DiagnosticKind::type, op, inputs, "the element types differ");
    if (input.rank() != inputs[0].rank()) return refuse(DiagnosticKind::shape, op, inputs, "the operands differ in their number of axes");
    for (int axis = 0; axis < input.rank(); ++axis) {
      if (axis == free_axis || input.shape[axis] == inputs[0].shape[axis]) continue;
      return refuse(DiagnosticKind::shape, op, inputs, "the operands differ in axis " + std::to_string(axis));
    }
  }
  return std::nullopt;
}

TypeResult concat_type(Types inputs, const Attributes& attributes) {
  const auto axis = attributes.get_or<std::int64_t>("axis", 0);
  const auto along = find_axis(axis, inputs[0].rank());
  if (!along) return no_axis("concat", inputs, axis, inputs[0].rank());
  if (auto error = alike("concat", inputs, *along)) return *std::move(error);
  TensorType result = inputs[0];
  for (const TensorType& input : inputs.subspan(1)) {
    if (__builtin_add_overflow(result.shape[*along], input.shape[*along], &result.shape[*along])) {
      return refuse(DiagnosticKind::shape, "concat", inputs, "the result would be too large");
    }
  }
  return give("concat", inputs, std::move(result));
}

Status concat_reference(const OpCall& call) {
  Array& result = call.results[0];
  const int along = *find_axis(call.attributes.get_or<std::int64_t>("axis", 0), result.type().rank());
  View target{0, row_major_strides(result.shape())};
  for (const Array& input : call.inputs) {
    copy(input.shape(), input, {0, row_major_strides(input.shape())}, result, target);
    target.offset += input.shape()[along] * target.strides[along];
  }
  return {};
}

TypeResult stack_type(Types inputs, const Attributes& attributes) {
  const auto axis = attributes.get_or<std::int64_t>("axis", 0);
  const auto along = find_axis(axis, inputs[0].rank() + 1);
  if (!along) return no_axis("stack", inputs, axis, inputs[0].rank() + 1);
  if (auto error = alike("stack", inputs, -1)) return *std::move(error);
  TensorType result = inputs[0];
  result.shape.insert(result.shape.begin() + *along, static_cast<std::int64_t>(inputs.size()));
  return give("stack", inputs, std::move(result));
}

Status stack_reference(const OpCall& call) {
  Array& result = call.results[0];
  const int along = *find_axis(call.attributes.get_or<std::int64_t>("axis", 0), result.type().rank());
  Strides strides = row_major_strides(result.shape());
  const std::int64_t step = strides[along];
  strides.erase(strides.begin() + along);
  std::int64_t offset = 0;
  for (const Array& input : call.inputs) {
    copy(input.shape(), input, {0, row_major_strides(input.shape())}, result, {offset, strides});
    offset += step;
  }
  return {};
}

// --- pad ---------------------------------------------------------------------------------------------------------------------------------

/// The number of elements added before (side 0) or behind (side 1) an axis.
std::int64_t width(const Integers& widths, int axis, int side) {
  return widths.size() == 1 ? widths[0] : widths[2 * axis + side];
}

TypeResult pad_type(Types inputs, const Attributes& attributes) {
  TensorType result = inputs[0];
  const auto& widths = attributes.get<Integers>("widths");
  if (widths.size() != 1 && widths.size() != 2 * result.shape.size()) {
    return refuse(DiagnosticKind::value, "pad", inputs, "`widths` takes one number, or two (before, after) for each axis");
  }
  for (int axis = 0; axis < result.rank(); ++axis) {
    for (const int side : {0, 1}) {
      const std::int64_t more = width(widths, axis, side);
      if (more < 0) return refuse(DiagnosticKind::value, "pad", inputs, "`widths` must not be negative");
      if (__builtin_add_overflow(result.shape[axis], more, &result.shape[axis])) {
        return refuse(DiagnosticKind::shape, "pad", inputs, "the result would be too large");
      }
    }
  }
  return give("pad", inputs, std::move(result));
}

Status pad_reference(const OpCall& call) {
  const Array& x = call.inputs[0];
  Array& result = call.results[0];
  const auto value = call.attributes.get_or("value", 0.0);
  dispatch(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = result.mutable_data<T>();
    each_with_looks(result.size(), [&](std::int64_t begin, std::int64_t end) { std::fill(out + begin, out + end, convert<T>(value)); });
  });
  View target{0, row_major_strides(result.shape())};
  const auto& widths = call.attributes.get<Integers>("widths");
  for (int axis = 0; axis < x.type().rank(); ++axis) target.offset += width(widths, axis, 0) * target.strides[axis];
  copy(x.shape(), x, {0, row_major_strides(x.shape())}, result, target);
  return {};
}

// --- repeat, tile: with an additional axis for each repeated one, the result is a strided view of the operand with stride 0 there --------

TypeResult repeat_type(Types inputs, const Attributes& attributes) {
  TensorType result = inputs[0];
  const auto axis = attributes.get_or<std::int64_t>("axis", 0);
  const auto along = find_axis(axis, result.rank());
  const auto times = attributes.get<std::int64_t>("repeats");
  if (!along) return no_axis("repeat", inputs, axis, result.rank());
  if (times < 0) return refuse(DiagnosticKind::value, "repeat", inputs, "`repeats` must not be negative");
  if (__builtin_mul_overflow(result.shape[*along], times, &result.shape[*along])) {
    return refuse(DiagnosticKind::shape, "repeat", inputs, "the result would be too large");
  }
  return give("repeat", inputs, std::move(result));
}

Status repeat_reference(const OpCall& call) {
  const Array& x = call.inputs[0];
  const int along = *find_axis(call.attributes.get_or<std::int64_t>("axis", 0), x.type().rank());
  Shape shape = x.shape();
  Strides strides = row_major_strides(shape);
  shape.insert(shape.begin() + along + 1, call.attributes.get<std::int64_t>("repeats"));
  strides.insert(strides.begin() + along + 1, 0);
  copy(shape, x, {0, strides}, call.results[0], {0, row_major_strides(shape)});
  return {};
}

TypeResult tile_type(Types inputs, const Attributes& attributes) {
  const auto& times = attributes.get<Integers>("repetitions");
  TensorType result = inputs[0];
  if (times.size() > result.shape.size()) result.shape.insert(result.shape.begin(), times.size() - result.shape.size(), 1);
  for (std::size_t k = 0; k < times.size(); ++k) {
    std::int64_t& extent = result.shape[result.shape.size() - times.size() + k];
    if (times[k] < 0) return refuse(DiagnosticKind::value, "tile", inputs, "`repetitions` must not be negative");
    if (__builtin_mul_overflow(extent, times[k], &extent))
      return refuse(DiagnosticKind::shape, "tile", inputs, "the result would be too large");
  }
  return give("tile", inputs, std::move(result));
}

Status tile_reference(const OpCall& call) {
  const Array& x = call.inputs[0];
  const Shape& wide = call.results[0].shape();
  const Strides own = row_major_strides(x.shape());
  const std::size_t lead = wide.size() - x.shape().size();
  Shape shape;
  Strides strides;
  if (call.results[0].size() == 0) return {};
  for (std::size_t axis = 0; axis < wide.size(); ++axis) {
    const std::int64_t extent = axis < lead ? 1 : x.shape()[axis - lead];
    shape.insert(shape.end(), {wide[axis] / extent, extent});
    strides.insert(strides.end(), {0, axis < lead ? 0 : own[axis - lead]});
  }
  copy(shape, x, {0, strides}, call.results[0], {0, row_major_strides(shape)});
  return {};
}

}  // namespace

constexpr OpDef op::concat{.name = "concat",
                           .min_inputs = 1,
                           .max_inputs = -1,
                           .attributes = {with_default("axis", Type::integer, std::int64_t{0})},
                           .promotion = Promotion::common,
                           .signature = "concat([arrays], axis?)",
                           .summary = "joins the operands along an axis that they have",
                           .also_called = "Concat",
                           .type_rule = concat_type,
                           .length_rule = lengths::concat,
                           .cost = copy_cost,
                           .cost_class = CostClass::movement,
                           .form = join_form,
                           .reference = concat_reference,
                           .gradient = gradients::concat};

constexpr OpDef op::stack{.name = "stack",
                          .min_inputs = 1,
                          .max_inputs = -1,
                          .attributes = {with_default("axis", Type::integer, std::int64_t{0})},
                          .promotion = Promotion::common,
                          .signature = "stack([arrays], axis?)",
                          .summary = "joins the operands along a new axis",
                          .type_rule = stack_type,
                          .length_rule = lengths::stack,
                          .cost = copy_cost,
                          .cost_class = CostClass::movement,
                          .form = join_form,
                          .reference = stack_reference,
                          .gradient = gradients::stack};

constexpr OpDef op::pad{.name = "pad",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .attributes = {required("widths", Type::integers), with_default("value", Type::number, 0.0)},
                        .signature = "pad(x, widths, value?)",
                        .summary = "puts `value` around x: `widths` is one number for every side, or before and after of each axis in turn",
                        .type_rule = pad_type,
                        .cost = copy_cost,
                        .cost_class = CostClass::movement,
                        .reference = pad_reference,
                        .gradient = gradients::pad};

constexpr OpDef op::repeat{.name = "repeat",
                           .min_inputs = 1,
                           .max_inputs = 1,
                           .attributes = {required("repeats", Type::integer), with_default("axis", Type::integer, std::int64_t{0})},
                           .signature = "repeat(x, repeats, axis?)",
                           .summary = "each element of an axis several times in a row",
                           .also_called = "repeat_interleave",
                           .type_rule = repeat_type,
                           .cost = copy_cost,
                           .cost_class = CostClass::movement,
                           .reference = repeat_reference,
                           .gradient = gradients::repeat};

constexpr OpDef op::tile{.name = "tile",
                         .min_inputs = 1,
                         .max_inputs = 1,
                         .attributes = {required("repetitions", Type::integers)},
                         .signature = "tile(x, repetitions)",
                         .summary = "the whole of x several times along its last axes, or along new leading ones",
                         .type_rule = tile_type,
                         .cost = copy_cost,
                         .cost_class = CostClass::movement,
                         .reference = tile_reference,
                         .gradient = gradients::tile};

}  // namespace cleave::ops
