// Composite array functions that select, move or create elements: traced into operations. Functions that sum are in array_sums.cpp.
#include "graph/ops/array_functions.h"

#include <numeric>

#include "graph/array/range.h"
#include "graph/base/number_text.h"
#include "graph/ops/calls.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/ops/sums.h"
#include "graph/trace/composer.h"

namespace cleave {
namespace ops {
namespace {

using Type = AttributeDef::Type;

TypeError needs_matrix(std::string_view name, Types inputs) {
  return refuse(DiagnosticKind::shape, name, inputs, "needs matrices, in the last two axes");
}

/// Elements `from` to `to` along an axis.
Part part_of(Composer& c, const Part& x, int axis, std::int64_t from, std::int64_t to, bool squeeze = false) {
  const Shape shape = x.shape();
  Integers starts(static_cast<std::size_t>(axis), 0), stops(shape.begin(), shape.begin() + axis);
  starts.push_back(from);
  stops.push_back(to);
  Attributes attributes{{"starts", std::move(starts)}, {"stops", std::move(stops)}};
  if (squeeze) attributes.set("squeeze", Integers{axis});
  return c(op::slice, {x}, std::move(attributes));
}

// --- tril, triu, diagonal, trace --------------------------------------------------------------------------------------------------------

template <Name name>
TypeResult triangle_type(Types inputs, const Attributes&) {
  if (inputs[0].rank() < 2) return needs_matrix(name.view(), inputs);
  return give(name.view(), inputs, inputs[0]);
}

template <bool lower>
Parts expand_triangle(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const Part& x = inputs[0];
  const Shape shape = x.shape();
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
  // All diagonals beyond the matrix give the same result. Clamping keeps the sums below from overflowing.
  const std::int64_t k = std::clamp(attributes.get<std::int64_t>("k"), -rows - 1, columns + 1);
  const Part row = c(op::arange, {}, {{"start", k}, {"stop", rows + k}, {"dtype", DType::i64}});
  const Part column = c(op::arange, {}, {{"start", columns}, {"dtype", DType::i64}});
  const Part kept = c(lower ? op::less_equal : op::greater_equal, {column, c.reshape(row, {rows, 1})});
  return {c(op::where, {kept, x, x.dtype() == DType::boolean ? Part(false) : Part(0)})};
}

/// The number of elements of a diagonal.
std::int64_t diagonal_length(const Shape& shape, std::int64_t offset) {
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
  if (offset >= columns || offset <= -rows) return 0;
  return offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns);
}

template <Name name, bool summed>
TypeResult diagonal_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  if (x.rank() < 2) return needs_matrix(name.view(), inputs);
  TensorType result{summed ? sum_dtype(x.dtype, diagonal_length(x.shape, attributes.get<std::int64_t>("offset"))) : x.dtype,
                    Shape(x.shape.begin(), x.shape.end() - 2)};
  if (!summed) result.shape.push_back(diagonal_length(x.shape, attributes.get<std::int64_t>("offset")));
  return give(name.view(), inputs, std::move(result));
}

/// Flattens each matrix to one axis of its rows, in which the elements of a diagonal are `columns + 1` apart.
Parts expand_diagonal(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const Part& x = inputs[0];
  const Shape shape = x.shape();
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back(), offset = attributes.get<std::int64_t>("offset");
  const std::int64_t length = diagonal_length(shape, offset);
  Shape flat(shape.begin(), shape.end() - 2);
  const auto axes = flat.size();
  flat.push_back(rows * columns);
  Integers starts(axes, 0), stops(flat.begin(), flat.end() - 1), steps(axes, 1);
  const std::int64_t first = length == 0 ? 0 : offset >= 0 ? offset : -offset * columns;
  starts.push_back(first);
  stops.push_back(length > 0 ? first + (length - 1) * (columns + 1) + 1 : 0);
  steps.push_back(columns + 1);
  return {c(op::slice, {c.reshape(x, std::move(flat))},
            {{"starts", std::move(starts)}, {"stops", std::move(stops)}, {"steps", std::move(steps)}})};
}
Parts expand_trace(Composer& c, const Parts& inputs, const Attributes& attributes) {
  return {c(op::sum, {c(op::diagonal, inputs, attributes)}, {{"axis", Integers{-1}}})};
}

// --- roll, moveaxis, unstack, split, meshgrid -------------------------------------------------------------------------------------------

TypeResult roll_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const auto& shift = attributes.get<Integers>("shift");
  const auto* axes = attributes.get_if<Integers>("axis");
  if (const std::size_t wanted = axes ? axes->size() : 1; shift.size() != wanted) {
    return refuse(
        DiagnosticKind::value, "roll", inputs,
        "there are " + std::to_string(shift.size()) + " shifts for " + std::to_string(wanted) + (wanted == 1 ? " axis" : " axes"));
  }
  for (const std::int64_t axis : axes ? *axes : Integers())
    if (!find_axis(axis, x.rank())) return no_axis("roll", inputs, axis, x.rank());
  return give("roll", inputs, x);
}

Part roll_axis(Composer& c, const Part& x, int axis, std::int64_t shift) {
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  if (extent == 0 || shift % extent == 0) return x;
  const std::int64_t cut = extent - (shift % extent + extent) % extent;
  return c(op::concat, {part_of(c, x, axis, cut, extent), part_of(c, x, axis, 0, cut)}, {{"axis", std::int64_t{axis}}});
}

Parts expand_roll(Composer& c, const Parts& inputs, const Attributes& attributes) {
  Part x = inputs[0];
  const Shape shape = x.shape();
  const auto& shift = attributes.get<Integers>("shift");
  if (const auto* axes = attributes.get_if<Integers>("axis")) {
    for (std::size_t i = 0; i < axes->size(); ++i) x = roll_axis(c, x, *find_axis((*axes)[i], x.rank()), shift[i]);
    return {x};
  }
  return {c.reshape(roll_axis(c, c.reshape(x, {x.type().elements()}), 0, shift[0]), shape)};
}

/// The order of axes, or the error if the call is wrong.
std::variant<Integers, TypeError> moved_axes(Types inputs, const Attributes& attributes) {
  const int rank = inputs[0].rank();
  const auto &from = attributes.get<Integers>("source"), &to = attributes.get<Integers>("destination");
  if (from.size() != to.size()) {
    return refuse(DiagnosticKind::value, "moveaxis", inputs,
                  std::to_string(from.size()) + " axes cannot be moved to " + std::to_string(to.size()) + " places");
  }
  Integers order(static_cast<std::size_t>(rank), -1);
  AxisMarks moved;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto source = find_axis(from[i], rank), place = find_axis(to[i], rank);
    if (!source) return no_axis("moveaxis", inputs, from[i], rank);
    if (!place) return no_axis("moveaxis", inputs, to[i], rank);
    if (moved[static_cast<std::size_t>(*source)] || order[static_cast<std::size_t>(*place)] >= 0)
      return refuse(DiagnosticKind::value, "moveaxis", inputs, "an axis or a place is named twice");
    moved[static_cast<std::size_t>(*source)] = true;
    order[static_cast<std::size_t>(*place)] = *source;
  }
  std::int64_t next = 0;
  for (std::int64_t& axis : order) {
    if (axis >= 0) continue;
    while (moved[static_cast<std::size_t>(next)]) ++next;
    axis = next++;
  }
  return order;
}
TypeResult moveaxis_type(Types inputs, const Attributes& attributes) {
  const auto order = moved_axes(inputs, attributes);
  if (const auto* refused = std::get_if<TypeError>(&order)) return *refused;
  TensorType result{inputs[0].dtype, {}};
  for (const std::int64_t axis : std::get<0>(order)) result.shape.push_back(inputs[0].shape[static_cast<std::size_t>(axis)]);
  return give("moveaxis", inputs, std::move(result));
}
Parts expand_moveaxis(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const TensorType type = inputs[0].type();
  return {c(op::permute_dims, {inputs[0]}, {{"axes", std::get<0>(moved_axes({&type, 1}, attributes))}})};
}

constexpr std::int64_t kMostResults = 1024;

/// The type rule of `split`, whose results keep the axis (`keeps`), and of `unstack`, whose results do not.
template <Name name, bool keeps>
TypeResult parts_type(Types inputs, const Attributes& attributes) {
  TensorType part = inputs[0];
  const auto axis = attributes.get<std::int64_t>("axis");
  const auto along = find_axis(axis, part.rank());
  if (!along) return no_axis(name.view(), inputs, axis, part.rank());
  const auto at = part.shape.begin() + *along;
  const std::int64_t count = keeps ? attributes.get_or<std::int64_t>("sections", 1) : *at;
  if (count < 1 || count > kMostResults) {
    return refuse(DiagnosticKind::value, name.view(), inputs,
                  "would give " + std::to_string(count) + " results; there must be 1 to " + std::to_string(kMostResults));
  }
  if (keeps && *at % count != 0) {
    return refuse(DiagnosticKind::shape, name.view(), inputs,
                  "the extent " + std::to_string(*at) + " is not divided by " + std::to_string(count) + " sections");
  }
  if (keeps) {
    *at /= count;
  } else {
    part.shape.erase(at);
  }
  return give(name.view(), inputs, std::vector<TensorType>(static_cast<std::size_t>(count), part));
}
template <bool keeps>
Parts expand_parts(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const int axis = *find_axis(attributes.get<std::int64_t>("axis"), inputs[0].rank());
  const std::int64_t extent = inputs[0].shape()[static_cast<std::size_t>(axis)];
  const std::int64_t step = keeps ? extent / attributes.get<std::int64_t>("sections") : 1;
  const std::int64_t count = keeps ? attributes.get<std::int64_t>("sections") : extent;
  Parts parts;
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(part_of(c, inputs[0], axis, i * step, (i + 1) * step, !keeps));
  return parts;
}

/// The result axis that corresponds to vector i.
std::size_t mesh_axis(std::size_t i, std::size_t count, const Attributes& attributes) {
  const bool swapped = attributes.get_or<std::string>("indexing", "xy") == "xy" && count > 1 && i < 2;
  return swapped ? 1 - i : i;
}
TypeResult meshgrid_type(Types inputs, const Attributes& attributes) {
  const std::string indexing = attributes.get_or<std::string>("indexing", "xy");
  if (indexing != "xy" && indexing != "ij")
    return refuse(DiagnosticKind::value, "meshgrid", inputs, "`indexing` is \"xy\" or \"ij\", not \"" + indexing + "\"");
  Shape shape(inputs.size(), 1);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].rank() != 1) return refuse(DiagnosticKind::shape, "meshgrid", inputs, "takes vectors");
    shape[mesh_axis(i, inputs.size(), attributes)] = inputs[i].shape[0];
  }
  std::vector<TensorType> results;
  for (const TensorType& input : inputs) results.push_back({input.dtype, shape});
  return give("meshgrid", inputs, std::move(results));
}
Parts expand_meshgrid(Composer& c, const Parts& inputs, const Attributes& attributes) {
  Shape whole(inputs.size(), 1);
  for (std::size_t i = 0; i < inputs.size(); ++i) whole[mesh_axis(i, inputs.size(), attributes)] = inputs[i].shape()[0];
  Parts results;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Shape own(inputs.size(), 1);
    own[mesh_axis(i, inputs.size(), attributes)] = inputs[i].shape()[0];
    results.push_back(c(op::broadcast_to, {c.reshape(inputs[i], std::move(own))}, {{"shape", whole}}));
  }
  return results;
}

// --- creation ---------------------------------------------------------------------------------------------------------------------------

template <Name name>
TypeResult like_type(Types inputs, const Attributes& attributes) {
  return give(name.view(), inputs, {attributes.get_or("dtype", inputs[0].dtype), inputs[0].shape});
}
template <const OpDef& creating>
Parts expand_like(Composer& c, const Parts& inputs, const Attributes& attributes) {
  Attributes made{{"shape", inputs[0].shape()}, {"dtype", attributes.get_or("dtype", inputs[0].dtype())}};
  if (const AttributeValue* value = attributes.find("value")) made.set("value", *value);
  return {c(creating, {}, std::move(made))};
}

TypeResult linspace_type(Types inputs, const Attributes& attributes) {
  const auto num = attributes.get<std::int64_t>("num");
  if (num < 0) return refuse(DiagnosticKind::value, "linspace", inputs, "`num` must not be negative");
  const DType dtype = attributes.get_or("dtype", DType::f32);
  if (!is_floating(dtype)) return refuse(DiagnosticKind::type, "linspace", inputs, "gives floating-point numbers; convert with astype");
  for (const double number : {attributes.get<double>("start"), attributes.get<double>("stop")})
    if (out_of_range(number, dtype))
      return refuse(DiagnosticKind::value, "linspace", inputs,
                    "`" + general_text(number, 9) + "` does not fit in " + std::string(to_string(dtype)) + "; " + range_text(dtype));
  return give("linspace", inputs, {dtype, {num}});
}
/// Computes in f64 to reduce rounding errors of the steps.
Parts expand_linspace(Composer& c, const Parts&, const Attributes& attributes) {
  const auto num = attributes.get<std::int64_t>("num");
  const double start = attributes.get<double>("start"), stop = attributes.get<double>("stop");
  const bool endpoint = attributes.get_or("endpoint", true);
  const std::int64_t steps = std::max<std::int64_t>(1, endpoint ? num - 1 : num);
  const Part i = c(op::arange, {}, {{"start", num}, {"dtype", DType::f64}});
  Part y = c.add(c.multiply(i, (stop - start) / static_cast<double>(steps)), start);
  if (endpoint && num > 1) y = c(op::where, {c(op::equal, {i, static_cast<double>(num - 1)}), stop, y});
  return {c(op::astype, {y}, {{"dtype", attributes.get_or("dtype", DType::f32)}})};
}

}  // namespace

namespace {

constexpr AttributeDef whole_number(std::string_view name, std::int64_t fallback) {
  return with_default(name, Type::integer, fallback);
}
constexpr AttributeDef kOptionalDType = optional("dtype", Type::dtype);

}  // namespace

constexpr OpDef op::tril =
    Record("tril(x, k?)", 1, {whole_number("k", 0)}, "the elements on and below diagonal `k` of the last two axes, else 0",
           triangle_type<"tril">, expand_triangle<true>);

constexpr OpDef op::triu =
    Record("triu(x, k?)", 1, {whole_number("k", 0)}, "the elements on and above diagonal `k` of the last two axes, else 0",
           triangle_type<"triu">, expand_triangle<false>);

constexpr OpDef op::diagonal = Record("diagonal(x, offset?)", 1, {whole_number("offset", 0)}, "a diagonal of the last two axes",
                                      diagonal_type<"diagonal", false>, expand_diagonal);

constexpr OpDef op::trace = Record("trace(x, offset?)", 1, {whole_number("offset", 0)}, "the sum of a diagonal of the last two axes",
                                   diagonal_type<"trace", true>, expand_trace);

constexpr OpDef op::roll =
    Record("roll(x, shift, axis?)", 1, {required("shift", Type::integers), optional("axis", Type::integers)},
           "moved by `shift` places along an axis, round about (absent: over all elements in order)", roll_type, expand_roll);

constexpr OpDef op::moveaxis =
    Record("moveaxis(x, source, destination)", 1, {required("source", Type::integers), required("destination", Type::integers)},
           "axis `source` in the place `destination`, the others in their order", moveaxis_type, expand_moveaxis);

constexpr OpDef op::unstack =
    Record("unstack(x, axis?)", 1, {whole_number("axis", 0)}, "as many results as the axis is long: the parts along it",
           parts_type<"unstack", false>, expand_parts<false>);

constexpr OpDef op::split = Record("split(x, sections, axis?)", 1, {required("sections", Type::integer), whole_number("axis", 0)},
                                   "`sections` results: equal parts along an axis", parts_type<"split", true>, expand_parts<true>);

constexpr OpDef op::meshgrid = Record("meshgrid([vectors], indexing?)", 1, {with_default("indexing", Type::text, "xy")},
                                      "a result for each vector: its elements over all combinations; \"ij\": in the order of the vectors",
                                      meshgrid_type, expand_meshgrid)
                                   .operands(1, -1);

constexpr OpDef op::zeros_like = Record("zeros_like(x, dtype?)", 1, {kOptionalDType}, "zeros of the shape of x, and of its type",
                                        like_type<"zeros_like">, expand_like<op::zeros>);

constexpr OpDef op::ones_like = Record("ones_like(x, dtype?)", 1, {kOptionalDType}, "ones of the shape of x, and of its type",
                                       like_type<"ones_like">, expand_like<op::ones>);

constexpr OpDef op::full_like = Record("full_like(x, value, dtype?)", 1, {required("value", Type::any), kOptionalDType},
                                       "`value` in the shape of x, and of its type", like_type<"full_like">, expand_like<op::full>);

constexpr OpDef op::linspace = Record("linspace(start, stop, num, endpoint?, dtype?)", 0,
                                      {required("start", Type::number), required("stop", Type::number), required("num", Type::integer),
                                       with_default("endpoint", Type::boolean, true), with_default("dtype", Type::dtype, DType::f32)},
                                      "`num` numbers from start to stop, equally far apart", linspace_type, expand_linspace);

}  // namespace ops

using ops::call;

Tensor tril(const Tensor& x, std::int64_t k, Here here) {
  return call(op::tril, {x}, {{"k", k}}, here);
}
Tensor triu(const Tensor& x, std::int64_t k, Here here) {
  return call(op::triu, {x}, {{"k", k}}, here);
}
Tensor diagonal(const Tensor& x, std::int64_t offset, Here here) {
  return call(op::diagonal, {x}, {{"offset", offset}}, here);
}
Tensor matrix_trace(const Tensor& x, std::int64_t offset, Here here) {
  return detail::call(op::trace, {x}, {{"offset", offset}}, here.of("matrix_trace"));
}
Tensor roll(const Tensor& x, std::vector<std::int64_t> shift, Axes axis, Here here) {
  Attributes attributes = ops::axis(axis);
  attributes.set("shift", std::move(shift));
  return call(op::roll, {x}, std::move(attributes), here);
}
Tensor moveaxis(const Tensor& x, std::vector<std::int64_t> source, std::vector<std::int64_t> destination, Here here) {
  return call(op::moveaxis, {x}, {{"source", std::move(source)}, {"destination", std::move(destination)}}, here);
}
std::vector<Tensor> unstack(const Tensor& x, int axis, Here here) {
  return detail::apply(op::unstack, {&x, 1}, {{"axis", std::int64_t{axis}}}, here.of("unstack"));
}
std::vector<Tensor> split(const Tensor& x, std::int64_t sections, int axis, Here here) {
  std::vector<Tensor> parts = detail::apply(op::split, {&x, 1}, {{"sections", sections}, {"axis", std::int64_t{axis}}}, here.of("split"));
  if (parts.size() == 1 && sections > 1 && sections <= ops::kMostResults) parts.resize(static_cast<std::size_t>(sections), parts[0]);
  return parts;
}
std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, const MeshgridOptions& options, Here here) {
  return detail::apply(op::meshgrid, vectors, {{"indexing", std::string(options.matrix_indexing ? "ij" : "xy")}}, here.of("meshgrid"));
}
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype, Here here) {
  Attributes attributes;
  ops::set(attributes, "dtype", dtype);
  return call(op::zeros_like, {x}, std::move(attributes), here);
}
Tensor ones_like(const Tensor& x, std::optional<DType> dtype, Here here) {
  Attributes attributes;
  ops::set(attributes, "dtype", dtype);
  return call(op::ones_like, {x}, std::move(attributes), here);
}
Tensor full_like(const Tensor& x, Number value, std::optional<DType> dtype, Here here) {
  Attributes attributes;
  ops::set(attributes, "value", std::optional<Number>(value));
  ops::set(attributes, "dtype", dtype);
  return call(op::full_like, {x}, std::move(attributes), here);
}
Tensor linspace(double start, double stop, std::int64_t num, const LinspaceOptions& options, Here here) {
  return call(op::linspace, std::initializer_list<Tensor>{},
              {{"start", start}, {"stop", stop}, {"num", num}, {"endpoint", options.endpoint}, {"dtype", options.dtype}}, here);
}

}  // namespace cleave
