// Ops that change the shape or order of elements. Each copies a strided view of its operand.
#include <numeric>

#include <cstring>

#include "graph/ops/forms.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/ops/strided.h"

namespace cleave::ops {
namespace {

using Type = AttributeDef::Type;

// --- transpose, permute_dims ---------------------------------------------------------------------------------------------------------

TypeResult transpose_type(Types inputs, const Attributes&) {
  TensorType result = inputs[0];
  if (result.rank() < 2) return refuse(DiagnosticKind::shape, "transpose", inputs, "needs at least two axes");
  std::swap(result.shape[result.rank() - 1], result.shape[result.rank() - 2]);
  return give("transpose", inputs, std::move(result));
}

Status transpose_reference(const OpCall& call) {
  Strides strides = row_major_strides(call.inputs[0].shape());
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  copy(call.inputs[0], {0, std::move(strides)}, call.results[0]);
  return {};
}

TypeResult permute_dims_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const auto& axes = attributes.get<Integers>("axes");
  auto named = find_axes("permute_dims", inputs, {{"axis", axes}}, x.rank());
  if (auto* error = std::get_if<TypeError>(&named)) return std::move(*error);
  if (static_cast<int>(axes.size()) != x.rank())
    return refuse(DiagnosticKind::value, "permute_dims", inputs, "`axes` must name every axis once");
  TensorType result{x.dtype, {}};
  for (const std::int64_t axis : axes) result.shape.push_back(x.shape[*find_axis(axis, x.rank())]);
  return give("permute_dims", inputs, std::move(result));
}

Status permute_dims_reference(const OpCall& call) {
  const Array& x = call.inputs[0];
  const Strides own = row_major_strides(x.shape());
  Strides strides;
  for (const std::int64_t axis : call.attributes.get<Integers>("axes")) strides.push_back(own[*find_axis(axis, x.type().rank())]);
  copy(x, {0, std::move(strides)}, call.results[0]);
  return {};
}

// --- same elements in the same order -----------------------------------------------------------------------------------------------------

Status same_order_reference(const OpCall& call) {
  const Shape flat = {call.inputs[0].size()};
  copy(flat, call.inputs[0], {0, {1}}, call.results[0], {0, {1}});
  return {};
}

TypeResult reshape_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  TensorType result{x.dtype, attributes.get<Integers>("shape")};
  std::int64_t* open = nullptr;
  for (std::int64_t& extent : result.shape) {
    if (extent != -1) continue;
    if (open) return refuse(DiagnosticKind::value, "reshape", inputs, "only one extent may be -1");
    open = &extent;
  }
  const std::string wanted = to_string(result.shape);
  if (open) {
    *open = 1;
    const auto known = checked_bytes({DType::boolean, result.shape});
    *open = known.value_or(0) > 0 && x.elements() % *known == 0 ? x.elements() / *known : -1;
  }
  if (!checked_bytes(result) || result.elements() != x.elements()) {
    return refuse(DiagnosticKind::shape, "reshape", inputs, std::to_string(x.elements()) + " elements do not fit the shape " + wanted);
  }
  return give("reshape", inputs, std::move(result));
}

TypeResult expand_dims_type(Types inputs, const Attributes& attributes) {
  TensorType result = inputs[0];
  const auto axis = attributes.get_or<std::int64_t>("axis", 0);
  const auto place = find_axis(axis, result.rank() + 1);
  if (!place) return no_axis("expand_dims", inputs, axis, result.rank() + 1);
  result.shape.insert(result.shape.begin() + *place, 1);
  return give("expand_dims", inputs, std::move(result));
}

TypeResult squeeze_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  auto axes = find_axes("squeeze", inputs, attributes, x.rank());
  if (auto* error = std::get_if<TypeError>(&axes)) return std::move(*error);
  TensorType result{x.dtype, {}};
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!std::get<0>(axes)[axis]) {
      result.shape.push_back(x.shape[axis]);
    } else if (x.shape[axis] != 1) {
      return refuse(DiagnosticKind::shape, "squeeze", inputs,
                    "axis " + std::to_string(axis) + " has extent " + std::to_string(x.shape[axis]) + ", not 1");
    }
  }
  return give("squeeze", inputs, std::move(result));
}

// --- broadcast_to, flip ----------------------------------------------------------------------------------------------

TypeResult broadcast_to_type(Types inputs, const Attributes& attributes) {
  const TensorType result{inputs[0].dtype, attributes.get<Integers>("shape")};
  if (!checked_bytes(result)) return give("broadcast_to", inputs, result);
  if (broadcast(inputs[0].shape, result.shape) != result.shape) {
    return refuse(DiagnosticKind::shape, "broadcast_to", inputs, "does not broadcast to " + to_string(result.shape));
  }
  return give("broadcast_to", inputs, result);
}

Status broadcast_to_reference(const OpCall& call) {
  copy(call.inputs[0], {0, broadcast_strides(call.inputs[0].shape(), call.results[0].shape())}, call.results[0]);
  return {};
}

TypeResult flip_type(Types inputs, const Attributes& attributes) {
  auto axes = find_axes("flip", inputs, attributes, inputs[0].rank());
  if (auto* error = std::get_if<TypeError>(&axes)) return std::move(*error);
  return give("flip", inputs, inputs[0]);
}

Status flip_reference(const OpCall& call) {
  const Array& x = call.inputs[0];
  const AxisMarks marked = marked_axes(call.attributes, x.type().rank());
  View view{0, row_major_strides(x.shape())};
  if (x.size() == 0) return {};
  for (std::size_t axis = 0; axis < x.shape().size(); ++axis) {
    if (!marked[axis]) continue;
    view.offset += (x.shape()[axis] - 1) * view.strides[axis];
    view.strides[axis] = -view.strides[axis];
  }
  copy(x, view, call.results[0]);
  return {};
}

// --- bitcast -----------------------------------------------------------------------------------------------------------------------------

TypeResult bitcast_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const auto dtype = attributes.get<DType>("dtype");
  if (x.dtype == DType::boolean || dtype == DType::boolean)
    return refuse(DiagnosticKind::type, "bitcast", inputs, "a bool is no number of bits; `astype` converts it");
  const std::int64_t from = size_of(x.dtype), to = size_of(dtype);
  TensorType result{dtype, x.shape};
  if (from > to) {
    result.shape.push_back(from / to);
  } else if (from < to) {
    if (x.scalar() || x.shape.back() != to / from) {
      return refuse(DiagnosticKind::shape, "bitcast", inputs,
                    "a last axis of " + std::to_string(to / from) + " elements makes up one of " + std::string(to_string(dtype)));
    }
    result.shape.pop_back();
  }
  return give("bitcast", inputs, std::move(result));
}

Status bitcast_reference(const OpCall& call) {
  const auto bytes = static_cast<std::size_t>(call.inputs[0].type().bytes());
  if (bytes > 0) std::memcpy(call.results[0].mutable_bytes(), call.inputs[0].bytes(), bytes);
  return {};
}

}  // namespace

constexpr OpDef op::transpose = Record("transpose(x)", 1, {}, "swaps the last two axes", transpose_type, copy_cost, transpose_reference)
                                    .with_lengths(lengths::transpose)
                                    .of_class(CostClass::movement, transpose_form)
                                    .differentiated(gradients::transpose);

constexpr OpDef op::permute_dims =
    Record("permute_dims(x, axes)", 1, {required("axes", Type::integers)}, "axis i of the result is axis `axes[i]` of x", permute_dims_type,
           copy_cost, permute_dims_reference)
        .with_lengths(lengths::permute_dims)
        .of_class(CostClass::movement, permute_form)
        .differentiated(gradients::permute_dims);

constexpr OpDef op::reshape =
    Record("reshape(x, shape)", 1, {required("shape", Type::shape)}, "the same elements in row-major order; one extent may be -1",
           reshape_type, copy_cost, same_order_reference)
        .with_lengths(lengths::reshape)
        .of_class(CostClass::movement)
        .keeps_bytes()
        .differentiated(gradients::reshape);

constexpr OpDef op::expand_dims =
    Record("expand_dims(x, axis?)", 1, {kFirstAxis}, "inserts an axis of extent 1", expand_dims_type, copy_cost, same_order_reference)
        .with_lengths(lengths::expand_dims)
        .of_class(CostClass::movement)
        .keeps_bytes()
        .differentiated(gradients::expand_dims);

constexpr OpDef op::squeeze = Record("squeeze(x, axis)", 1, {required("axis", Type::integers)}, "removes axes of extent 1", squeeze_type,
                                     copy_cost, same_order_reference)
                                  .with_lengths(lengths::squeeze)
                                  .of_class(CostClass::movement)
                                  .keeps_bytes()
                                  .differentiated(gradients::squeeze);

constexpr OpDef op::broadcast_to =
    Record("broadcast_to(x, shape)", 1, {required("shape", Type::shape)}, "repeats axes of extent 1 and adds leading axes",
           broadcast_to_type, copy_cost, broadcast_to_reference)
        .with_lengths(lengths::broadcast_to)
        .of_class(CostClass::movement, run_of_operands)
        .differentiated(gradients::broadcast_to);

constexpr OpDef op::flip =
    Record("flip(x, axis?)", 1, {optional("axis", Type::integers)}, "reverses the axes (absent: all)", flip_type, copy_cost, flip_reference)
        .with_lengths(lengths::flip)
        .of_class(CostClass::movement)
        .differentiated(gradients::flip);

constexpr OpDef op::bitcast =
    Record("bitcast(x, dtype)", 1, {required("dtype", Type::dtype)},
           "the same bits as elements of another type; of smaller ones there is a new last axis, of larger ones the last axis goes",
           bitcast_type, copy_cost, bitcast_reference)
        .of_class(CostClass::movement)
        .keeps_bytes()
        .differentiated(GradientRule::none());

}  // namespace cleave::ops
