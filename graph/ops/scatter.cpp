// take_along_axis, gather_nd and the scatter ops: elements at computed positions. Several updates of one position are applied in the order
// of the indices, on every device.
#include <array>
#include <cstring>

#include "graph/base/stop.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/places.h"
#include "graph/ops/wrapping.h"

namespace cleave::ops {
namespace {

using Type = AttributeDef::Type;

constexpr std::array<std::string_view, 5> kReductions = {"none", "add", "mul", "max", "min"};

std::int64_t elements_from(const Shape& shape, std::size_t axis) {
  std::int64_t elements = 1;
  for (; axis < shape.size(); ++axis) elements *= shape[axis];
  return elements;
}

// --- places ------------------------------------------------------------------------------------------------------------------------------

/// One index along `axis` for each element. Along other axes, x or indices of extent 1 broadcast.
ComputedPositions along_axis(const Shape& x, const Shape& indices, std::size_t axis, Shape walked) {
  ComputedPositions places{1, std::move(walked), row_major_strides(x), row_major_strides(indices), {x[axis]}, {row_major_strides(x)[axis]}};
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (k == axis || (x[k] == 1 && places.shape[k] != 1)) places.fixed[k] = 0;
    if (indices[k] == 1 && places.shape[k] != 1) places.indices[k] = 0;
  }
  return places;
}

/// Tuples of indices into the axes from `batch` on. The axes before them are a batch that x and the indices share.
ComputedPositions by_tuples(const Shape& x, const Shape& indices, std::size_t batch) {
  const auto axes = static_cast<std::size_t>(indices.back());
  const Strides own = row_major_strides(x);
  ComputedPositions places;
  places.run = elements_from(x, batch + axes);
  places.shape.assign(indices.begin(), indices.end() - 1);
  places.indices = row_major_strides(indices);
  places.indices.pop_back();
  places.fixed.assign(places.shape.size(), 0);
  std::copy_n(own.begin(), batch, places.fixed.begin());
  const auto first = static_cast<std::ptrdiff_t>(batch), last = static_cast<std::ptrdiff_t>(batch + axes);
  places.extents.assign(x.begin() + first, x.begin() + last);
  places.strides.assign(own.begin() + first, own.begin() + last);
  return places;
}

/// The access pattern of `take`: for each index, a run of all elements of the later axes, once for each index of the earlier axes.
ComputedPositions as_taken(const Shape& x, const TensorType& indices, std::size_t axis) {
  const std::int64_t run = elements_from(x, axis + 1), before = elements_from(x, 0) == 0 ? 0 : elements_from(x, 0) / (run * x[axis]);
  return {run, {before, indices.elements()}, {x[axis] * run, 0}, {0, 1}, {x[axis]}, {run}};
}

}  // namespace

ComputedPositions places_of(std::string_view op, Types inputs, const Attributes& attributes) {
  const Shape &x = inputs[0].shape, &indices = inputs[1].shape;
  const auto axis = [&](std::int64_t otherwise) {
    return static_cast<std::size_t>(*find_axis(attributes.get_or("axis", otherwise), inputs[0].rank()));
  };
  if (op == "gather_nd" || op == "scatter_nd")
    return by_tuples(x, indices, static_cast<std::size_t>(attributes.get_or<std::int64_t>("batch_dims", 0)));
  if (op == "scatter_add") return as_taken(x, inputs[1], axis(0));
  if (op == "scatter") return along_axis(x, indices, axis(0), indices);
  const std::size_t along = axis(-1);
  Shape walked = indices;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (k != along && indices[k] == 1) walked[k] = x[k];
  }
  return along_axis(x, indices, along, std::move(walked));
}

Reduction reduction_of(std::string_view op, const Attributes& attributes) {
  if (op == "scatter_add") return Reduction::add;
  const auto& name = attributes.get<std::string>("reduction");
  return static_cast<Reduction>(std::find(kReductions.begin(), kReductions.end(), name) - kReductions.begin());
}

namespace {

// --- type rules --------------------------------------------------------------------------------------------------------------------------

std::optional<TypeError> wrong_indices(std::string_view op, Types inputs) {
  if (is_integer(inputs[1].dtype)) return std::nullopt;
  return refuse(DiagnosticKind::type, op, inputs, "the indices must be integers");
}

TypeResult take_along_axis_type(Types inputs, const Attributes& attributes) {
  constexpr std::string_view op = "take_along_axis";
  const TensorType &x = inputs[0], &indices = inputs[1];
  if (auto error = wrong_indices(op, inputs)) return *std::move(error);
  const auto axis = attributes.get_or<std::int64_t>("axis", -1);
  const auto along = find_axis(axis, x.rank());
  if (!along) return no_axis(op, inputs, axis, x.rank());
  if (indices.rank() != x.rank()) return refuse(DiagnosticKind::shape, op, inputs, "the indices must have as many axes as x");
  TensorType result{x.dtype, indices.shape};
  for (int k = 0; k < x.rank(); ++k) {
    if (k == *along || indices.shape[k] == x.shape[k] || x.shape[k] == 1) continue;
    if (indices.shape[k] != 1) return refuse(DiagnosticKind::shape, op, inputs, "x and indices differ in axis " + std::to_string(k));
    result.shape[k] = x.shape[k];
  }
  return give(op, inputs, std::move(result));
}

/// The shape of the result of a gather, or of the updates of a scatter, by tuples: that of the indices without the last axis, then the axes
/// of x behind the batch and the indexed ones.
std::variant<Shape, TypeError> shape_by_tuples(std::string_view op, Types inputs, std::int64_t batch) {
  const TensorType &x = inputs[0], &indices = inputs[1];
  if (auto error = wrong_indices(op, inputs)) return *std::move(error);
  if (indices.scalar()) return refuse(DiagnosticKind::shape, op, inputs, "the indices need a last axis: the tuples of indices");
  const std::int64_t axes = indices.shape.back();
  if (batch < 0 || batch >= indices.rank() || batch > x.rank())
    return refuse(DiagnosticKind::value, op, inputs, "there are no " + std::to_string(batch) + " axes in common");
  if (axes > x.rank() - batch)
    return refuse(DiagnosticKind::shape, op, inputs, std::to_string(axes) + " indices for " + std::to_string(x.rank() - batch) + " axes");
  for (std::int64_t k = 0; k < batch; ++k) {
    if (x.shape[k] != indices.shape[k])
      return refuse(DiagnosticKind::shape, op, inputs, "x and indices differ in axis " + std::to_string(k));
  }
  Shape shape(indices.shape.begin(), indices.shape.end() - 1);
  shape.insert(shape.end(), x.shape.begin() + batch + axes, x.shape.end());
  return shape;
}

TypeResult gather_nd_type(Types inputs, const Attributes& attributes) {
  auto shape = shape_by_tuples("gather_nd", inputs, attributes.get_or<std::int64_t>("batch_dims", 0));
  if (auto* error = std::get_if<TypeError>(&shape)) return std::move(*error);
  return give("gather_nd", inputs, {inputs[0].dtype, std::get<Shape>(std::move(shape))});
}

/// Checks what all scatter ops require apart from shapes.
std::optional<TypeError> wrong_updates(std::string_view op, Types inputs, const Attributes& attributes) {
  if (auto error = wrong_indices(op, inputs)) return error;
  if (inputs[2].dtype != inputs[0].dtype) return refuse(DiagnosticKind::type, op, inputs, "the updates are of another element type than x");
  const auto* name = attributes.get_if<std::string>("reduction");
  if (name && std::find(kReductions.begin(), kReductions.end(), *name) == kReductions.end())
    return refuse(DiagnosticKind::value, op, inputs, "`reduction` is one of none, add, mul, max, min, not `" + *name + "`");
  const Reduction reduction = reduction_of(op, attributes);
  if (inputs[0].dtype == DType::boolean && (reduction == Reduction::add || reduction == Reduction::mul))
    return refuse(DiagnosticKind::type, op, inputs, "bool has no sum and no product; `max` is or, `min` is and");
  return std::nullopt;
}

TypeError wrong_update_shape(std::string_view op, Types inputs, const Shape& wanted) {
  return refuse(DiagnosticKind::shape, op, inputs, "the updates must be of shape " + to_string(wanted));
}

TypeResult scatter_type(Types inputs, const Attributes& attributes) {
  const TensorType &x = inputs[0], &indices = inputs[1];
  if (auto error = wrong_updates("scatter", inputs, attributes)) return *std::move(error);
  const auto axis = attributes.get_or<std::int64_t>("axis", 0);
  const auto along = find_axis(axis, x.rank());
  if (!along) return no_axis("scatter", inputs, axis, x.rank());
  if (indices.rank() != x.rank()) return refuse(DiagnosticKind::shape, "scatter", inputs, "the indices must have as many axes as x");
  if (inputs[2].shape != indices.shape) return wrong_update_shape("scatter", inputs, indices.shape);
  for (int k = 0; k < x.rank(); ++k) {
    if (k != *along && indices.shape[k] > x.shape[k])
      return refuse(DiagnosticKind::shape, "scatter", inputs, "the indices are longer than x along axis " + std::to_string(k));
  }
  return give("scatter", inputs, x);
}

TypeResult scatter_add_type(Types inputs, const Attributes& attributes) {
  const TensorType &x = inputs[0], &indices = inputs[1];
  if (auto error = wrong_updates("scatter_add", inputs, attributes)) return *std::move(error);
  const auto axis = attributes.get_or<std::int64_t>("axis", 0);
  const auto along = find_axis(axis, x.rank());
  if (!along) return no_axis("scatter_add", inputs, axis, x.rank());
  Shape wanted(x.shape.begin(), x.shape.begin() + *along);
  wanted.insert(wanted.end(), indices.shape.begin(), indices.shape.end());
  wanted.insert(wanted.end(), x.shape.begin() + *along + 1, x.shape.end());
  if (inputs[2].shape != wanted) return wrong_update_shape("scatter_add", inputs, wanted);
  return give("scatter_add", inputs, x);
}

TypeResult scatter_nd_type(Types inputs, const Attributes& attributes) {
  if (auto error = wrong_updates("scatter_nd", inputs, attributes)) return *std::move(error);
  const auto wanted = shape_by_tuples("scatter_nd", inputs, 0);
  if (const auto* error = std::get_if<TypeError>(&wanted)) return *error;
  if (inputs[2].shape != std::get<Shape>(wanted)) return wrong_update_shape("scatter_nd", inputs, std::get<Shape>(wanted));
  return give("scatter_nd", inputs, inputs[0]);
}

// --- reference implementations -----------------------------------------------------------------------------------------------------------

/// The offset of each run in x, in order, or an Error that names the first index out of range.
Result<Integers> starts_of(std::string_view op, const OpCall& call, const ComputedPositions& places) {
  Integers indices, starts;
  dispatch(call.inputs[1].dtype(), [&](auto zero) {
    using Index = decltype(zero);
    if constexpr (std::is_integral_v<Index>) {
      StopLooks looks;
      for (const Index index : call.inputs[1].values<Index>()) {
        looks.worked(4);
        indices.push_back(to_position(index));
      }
    }
  });
  if (const std::int64_t* wrong = first_outside(places, indices.data(), static_cast<std::int64_t>(indices.size())))
    return Error{no_such_place(op, std::to_string(*wrong), call.inputs[0].shape())};
  if (places.run == 0) return starts;
  const Strides operands[] = {places.fixed, places.indices};
  walk(places.shape, operands, [&](std::span<const std::int64_t> at, std::int64_t count, std::span<const std::int64_t> steps) {
    for (std::int64_t i = 0; i < count; ++i) {
      starts.push_back(at[0] + i * steps[0]);
      for (std::size_t a = 0; a < places.extents.size(); ++a) {
        const std::int64_t index = indices[static_cast<std::size_t>(at[1] + i * steps[1]) + a];
        starts.back() += place_of(index, places.extents[a]) * places.strides[a];
      }
    }
  });
  return starts;
}

ComputedPositions places_of(std::string_view op, const OpCall& call) {
  const TensorType types[] = {call.inputs[0].type(), call.inputs[1].type()};
  return ops::places_of(op, types, call.attributes);
}

Status gather(std::string_view op, const OpCall& call) {
  const ComputedPositions places = places_of(op, call);
  const Result<Integers> starts = starts_of(op, call, places);
  if (!starts) return starts.error();
  const std::int64_t size = size_of(call.inputs[0].dtype()), run = places.run * size;
  std::byte* out = call.results[0].mutable_bytes();
  StopLooks looks;
  for (const std::int64_t start : *starts) {
    looks.worked(1 + places.run);
    std::memcpy(out, call.inputs[0].bytes() + start * size, static_cast<std::size_t>(run));
    out += run;
  }
  return {};
}

template <class T>
void make_updates(Reduction reduction, const Integers& starts, std::int64_t run, const T* updates, T* out) {
  StopLooks looks;
  for (const std::int64_t start : starts) {
    for (std::int64_t r = 0; r < run; ++r) {
      looks.worked();
      T& to = out[start + r];
      to = store<T>(reduced(reduction, load(to), load(*updates++)));
    }
  }
}

Status scatter(std::string_view op, const OpCall& call) {
  const ComputedPositions places = places_of(op, call);
  const Result<Integers> starts = starts_of(op, call, places);
  if (!starts) return starts.error();
  Array& result = call.results[0];
  if (result.size() > 0) std::memcpy(result.mutable_bytes(), call.inputs[0].bytes(), static_cast<std::size_t>(result.type().bytes()));
  const Reduction reduction = reduction_of(op, call.attributes);
  dispatch(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    make_updates(reduction, *starts, places.run, call.inputs[2].data<T>(), result.mutable_data<T>());
  });
  return {};
}

template <Name name>
Status gather_reference(const OpCall& call) {
  return gather(name.view(), call);
}
template <Name name>
Status scatter_reference(const OpCall& call) {
  return scatter(name.view(), call);
}

// --- costs -------------------------------------------------------------------------------------------------------------------------------

Cost gather_cost(Types inputs, Types results, const Attributes&) {
  // Only the selected elements of x are read.
  return {0, 2 * static_cast<double>(results[0].bytes()) + static_cast<double>(inputs[1].bytes())};
}
/// Counts the updates only: if x is not read again, it is updated in place.
Cost scatter_cost(Types inputs, Types, const Attributes&) {
  return {0, 3 * static_cast<double>(inputs[2].bytes()) + static_cast<double>(inputs[1].bytes())};
}

template <Name name>
constexpr Record scattering(std::string_view signature, const AttributeDefs& attributes, std::string_view summary,
                            decltype(OpDef::type_rule) type_rule) {
  return Record(signature, 3, attributes, summary, type_rule, scatter_cost, scatter_reference<name>);
}

constexpr AttributeDef kReduction = with_default("reduction", Type::text, "none");

}  // namespace

constexpr OpDef op::take_along_axis = Record("take_along_axis(x, indices, axis?)", 2, {kLastAxis},
                                             "one element of x for each index, along an axis (the last); other axes agree or are 1",
                                             take_along_axis_type, gather_cost, gather_reference<"take_along_axis">)
                                          .with_lengths(lengths::take_along_axis)
                                          .of_class(CostClass::gather)
                                          .may_fail()
                                          .also_called("take_along_dim, gather_elements, GatherElements")
                                          .differentiated(gradients::take_along_axis);

constexpr OpDef op::gather_nd =
    Record("gather_nd(x, indices, batch_dims?)", 2, {with_default("batch_dims", Type::integer, std::int64_t{0})},
           "what tuples of indices (the last axis of `indices`) lead to in x, behind `batch_dims` axes in common", gather_nd_type,
           gather_cost, gather_reference<"gather_nd">)
        .with_lengths(lengths::gather_nd)
        .of_class(CostClass::gather)
        .may_fail()
        .also_called("GatherND")
        .differentiated(gradients::gather_nd);

constexpr OpDef op::scatter =
    scattering<"scatter">("scatter(x, indices, updates, axis?, reduction?)", {kFirstAxis, kReduction},
                          "x with each update at its index along an axis (the first), in the order of the indices: in place of what "
                          "is there, or added to it, `mul`, `max`, `min`; in the type of x, where integers wrap",
                          scatter_type)
        .of_class(CostClass::gather)
        .may_fail()
        .also_called("scatter_elements, ScatterElements")
        .differentiated(gradients::scatter);

constexpr OpDef op::scatter_add =
    scattering<"scatter_add">("scatter_add(x, indices, updates, axis?)", {kFirstAxis},
                              "x with updates of the shape of `take(x, indices, axis)` added where that would read, in the order of "
                              "the indices; in the type of x, where integers wrap",
                              scatter_add_type)
        .of_class(CostClass::gather)
        .may_fail()
        .also_called("index_add")
        .differentiated(gradients::scatter_add);

constexpr OpDef op::scatter_nd =
    scattering<"scatter_nd">("scatter_nd(x, indices, updates, reduction?)", {kReduction},
                             "x with each update where its tuple of indices (the last axis of `indices`) leads; reductions as of "
                             "`scatter`",
                             scatter_nd_type)
        .of_class(CostClass::gather)
        .may_fail()
        .also_called("ScatterND, index_put")
        .differentiated(gradients::scatter_nd);

}  // namespace cleave::ops
