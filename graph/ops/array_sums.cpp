// Composite array functions of differences, sums of products and norms: traced into operations.
#include <cmath>
#include <limits>
#include <numeric>

#include "graph/ops/array_functions.h"
#include "graph/ops/calls.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/ops/sums.h"
#include "graph/ops/widened.h"
#include "graph/trace/composer.h"

namespace cleave {
namespace ops {
namespace {

using Type = AttributeDef::Type;

TypeError needs_numbers(std::string_view name, Types inputs) {
  return refuse(DiagnosticKind::type, name, inputs, "needs numbers, not bool; convert with astype");
}
Attributes over(const Attributes& attributes, bool keepdims) {
  Attributes result{{"keepdims", keepdims}};
  if (const auto* axes = attributes.get_if<Integers>("axis")) result.set("axis", *axes);
  return result;
}

// --- over axes --------------------------------------------------------------------------------------------------------------------------

enum class SumResult : std::uint8_t { same, count };

template <Name name, SumResult gives>
TypeResult over_axes_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const auto found = find_axes(name.view(), inputs, attributes, x.rank());
  if (const auto* refused = std::get_if<TypeError>(&found)) return *refused;
  const AxisMarks& marked = std::get<0>(found);
  const DType dtype = gives == SumResult::count ? sum_dtype(DType::boolean, marked_elements(x.shape, marked)) : x.dtype;
  return give(name.view(), inputs, {dtype, reduced_shape(x.shape, marked, attributes.get_or("keepdims", false))});
}

/// Subtracts the largest element before `exp`, to avoid overflow, unless it is infinite.
Parts expand_logsumexp(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const DType dtype = inputs[0].dtype();
  const Part x = c.as(widened(dtype), inputs[0]);
  const Part largest = c(op::max, {x}, over(attributes, true));
  const Part base = c(op::where, {c(op::isfinite, {largest}), largest, 0});
  const Part sum = c(op::sum, {c(op::exp, {c.subtract(x, base)})}, over(attributes, true));
  const Part result = c.as(dtype, c.add(c(op::log, {sum}), base));
  if (attributes.get_or("keepdims", false)) return {result};
  const TensorType type = x.type();
  return {c.reshape(result, reduced_shape(type.shape, marked_axes(attributes, type.rank()), false))};
}
TypeResult logsumexp_type(Types inputs, const Attributes& attributes) {
  const TypeResult result = over_axes_type<"logsumexp", SumResult::same>(inputs, attributes);
  if (result.index() != 0 || inputs[0].elements() > 0) return result;
  return refuse(DiagnosticKind::shape, "logsumexp", inputs, "there is no largest of nothing");
}

Parts expand_count(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const Part& x = inputs[0];
  const Part there = x.dtype() == DType::boolean ? x : c(op::not_equal, {x, 0});
  return {c(op::sum, {there}, over(attributes, attributes.get_or("keepdims", false)))};
}

Part vector_norm_of(Composer& c, const Part& x, double ord, const Attributes& axes) {
  if (ord == 2) return c(op::sqrt, {c(op::sum, {c(op::square, {x})}, axes)});
  const Part magnitude = c(op::abs, {x});
  if (ord == 1) return c(op::sum, {magnitude}, axes);
  if (std::isinf(ord)) return c(ord > 0 ? op::max : op::min, {magnitude}, axes);
  if (ord == 0) return c(op::sum, {c.as(x.dtype(), c(op::not_equal, {x, 0}))}, axes);
  return c(op::pow, {c(op::sum, {c(op::pow, {magnitude, ord})}, axes), 1 / ord});
}
Parts expand_vector_norm(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const DType dtype = inputs[0].dtype();
  const Attributes axes = over(attributes, attributes.get_or("keepdims", false));
  return {c.as(dtype, vector_norm_of(c, c.as(widened(dtype), inputs[0]), attributes.get<double>("ord"), axes))};
}

// --- matrix_norm ------------------------------------------------------------------------------------------------------------------------

TypeResult matrix_norm_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  if (x.rank() < 2) return refuse(DiagnosticKind::shape, "matrix_norm", inputs, "needs matrices, in the last two axes");
  const std::string ord = attributes.get_or<std::string>("ord", "fro");
  const std::vector<std::string> known = {"fro", "nuc", "1", "-1", "2", "-2", "inf", "-inf"};
  if (std::find(known.begin(), known.end(), ord) == known.end()) {
    return refuse(DiagnosticKind::value, "matrix_norm", inputs,
                  "`ord` is \"fro\", \"nuc\", \"1\", \"-1\", \"2\", \"-2\", \"inf\" or \"-inf\", not \"" + ord + "\"");
  }
  AxisMarks last;
  for (const int axis : {x.rank() - 2, x.rank() - 1}) last[static_cast<std::size_t>(axis)] = true;
  return give("matrix_norm", inputs, {x.dtype, reduced_shape(x.shape, last, attributes.get_or("keepdims", false))});
}
Parts expand_matrix_norm(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const std::string ord = attributes.get_or<std::string>("ord", "fro");
  const DType dtype = inputs[0].dtype();
  const Part x = c.as(widened(dtype), inputs[0]);
  const auto along = [](std::int64_t axis) { return Attributes{{"axis", Integers{axis}}}; };
  const auto end = [&](const Part& wide) -> Parts {
    const Part norm = c.as(dtype, wide);
    if (!attributes.get_or("keepdims", false)) return {norm};
    Shape shape = norm.shape();
    shape.insert(shape.end(), 2, 1);
    return {c.reshape(norm, std::move(shape))};
  };
  if (ord == "fro") return end(c(op::sqrt, {c(op::sum, {c(op::square, {x})}, {{"axis", Integers{-2, -1}}})}));
  const OpDef& choice = ord[0] == '-' ? op::min : op::max;
  if (ord == "nuc" || ord.back() == '2') return end(c(ord == "nuc" ? op::sum : choice, {c(op::svdvals, {x})}, along(-1)));
  return end(c(choice, {c(op::sum, {c(op::abs, {x})}, along(ord.back() == '1' ? -2 : -1))}, along(-1)));
}

// --- diff -------------------------------------------------------------------------------------------------------------------------------

TypeResult diff_type(Types inputs, const Attributes& attributes) {
  TensorType result = inputs[0];
  if (result.dtype == DType::boolean) return needs_numbers("diff", inputs);
  const auto axis = attributes.get<std::int64_t>("axis"), n = attributes.get<std::int64_t>("n");
  const auto along = find_axis(axis, result.rank());
  if (!along) return no_axis("diff", inputs, axis, result.rank());
  constexpr std::int64_t kMost = 64;  // each difference is a separate subtraction
  if (n < 0 || n > kMost) return refuse(DiagnosticKind::value, "diff", inputs, "`n` must be from 0 to 64");
  std::int64_t& extent = result.shape[static_cast<std::size_t>(*along)];
  extent = std::max<std::int64_t>(0, extent - n);
  return give("diff", inputs, std::move(result));
}
Parts expand_diff(Composer& c, const Parts& inputs, const Attributes& attributes) {
  Part x = inputs[0];
  const auto axis = static_cast<std::size_t>(*find_axis(attributes.get<std::int64_t>("axis"), x.rank()));
  for (std::int64_t i = 0; i < attributes.get<std::int64_t>("n"); ++i) {
    const Shape shape = x.shape();
    const auto part = [&](std::int64_t from, std::int64_t to) {
      Integers starts(axis, 0), stops(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis));
      starts.push_back(from);
      stops.push_back(to);
      return c(op::slice, {x}, {{"starts", std::move(starts)}, {"stops", std::move(stops)}});
    };
    if (shape[axis] == 0) break;
    x = c.subtract(part(1, shape[axis]), part(0, shape[axis] - 1));
  }
  return {x};
}

// --- products ---------------------------------------------------------------------------------------------------------------------------

TypeResult vecdot_type(Types inputs, const Attributes& attributes) {
  const TensorType &a = inputs[0], &b = inputs[1];
  if (a.dtype == DType::boolean) return needs_numbers("vecdot", inputs);
  const auto axis = attributes.get<std::int64_t>("axis");
  if (axis >= 0) return refuse(DiagnosticKind::value, "vecdot", inputs, "`axis` counts from the end: it must be negative");
  for (const TensorType& x : inputs)
    if (!find_axis(axis, x.rank())) return no_axis("vecdot", inputs, axis, x.rank());
  const std::int64_t one = a.shape[a.shape.size() + static_cast<std::size_t>(axis)];
  const std::int64_t other = b.shape[b.shape.size() + static_cast<std::size_t>(axis)];
  const auto shape = broadcast(a.shape, b.shape);
  if (one != other || !shape) {
    return refuse(DiagnosticKind::shape, "vecdot", inputs,
                  one != other ? "the vectors have " + std::to_string(one) + " and " + std::to_string(other) + " elements"
                               : "the shapes do not broadcast");
  }
  Shape result = *shape;
  result.erase(result.end() + static_cast<std::ptrdiff_t>(axis));
  return give("vecdot", inputs, {dot_dtype(a.dtype, one), std::move(result)});
}
/// Multiplies in the type of the result, or a wider one: products of small integers would wrap before they are summed.
Parts expand_vecdot(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const std::vector<TensorType> types = {inputs[0].type(), inputs[1].type()};
  const DType result = std::get<0>(vecdot_type(types, attributes))[0].dtype, wide = widened(result);
  const Part products = c.multiply(c.as(wide, inputs[0]), c.as(wide, inputs[1]));
  return {c.as(result, c(op::sum, {products}, {{"axis", Integers{attributes.get<std::int64_t>("axis")}}}))};
}

TypeResult outer_type(Types inputs, const Attributes&) {
  if (inputs[0].dtype == DType::boolean) return needs_numbers("outer", inputs);
  if (inputs[0].rank() != 1 || inputs[1].rank() != 1) return refuse(DiagnosticKind::shape, "outer", inputs, "takes two vectors");
  return give("outer", inputs, {inputs[0].dtype, {inputs[0].shape[0], inputs[1].shape[0]}});
}
Parts expand_outer(Composer& c, const Parts& inputs, const Attributes&) {
  return {c.multiply(c.reshape(inputs[0], {inputs[0].shape()[0], 1}), inputs[1])};
}

/// The axes of either operand over which products are summed, counted from the front.
struct Contraction {
  Integers a, b;
};
std::variant<Contraction, TypeError> contraction_of(Types inputs, const Attributes& attributes) {
  const TensorType &a = inputs[0], &b = inputs[1];
  Contraction over;
  const auto wrong = [&](std::string why) { return refuse(DiagnosticKind::value, "tensordot", inputs, why); };
  const auto *a_axes = attributes.get_if<Integers>("a_axes"), *b_axes = attributes.get_if<Integers>("b_axes");
  if (!a_axes != !b_axes) return wrong("takes `a_axes` and `b_axes` together");
  if (a_axes) {
    if (a_axes->size() != b_axes->size()) return wrong("`a_axes` and `b_axes` are pairs: there must be as many of both");
    for (const auto& [axes, x, found] : {std::tuple(a_axes, &a, &over.a), std::tuple(b_axes, &b, &over.b)}) {
      for (const std::int64_t axis : *axes) {
        const auto at = find_axis(axis, x->rank());
        if (!at) return no_axis("tensordot", inputs, axis, x->rank());
        if (std::find(found->begin(), found->end(), *at) != found->end()) return wrong("axis " + std::to_string(axis) + " is named twice");
        found->push_back(*at);
      }
    }
  } else {
    const auto count = attributes.get_or<std::int64_t>("axes", 2);
    if (count < 0 || count > std::min(a.rank(), b.rank())) return wrong("there are not " + std::to_string(count) + " axes to sum over");
    for (std::int64_t i = 0; i < count; ++i) {
      over.a.push_back(a.rank() - count + i);
      over.b.push_back(i);
    }
  }
  for (std::size_t i = 0; i < over.a.size(); ++i) {
    const std::int64_t one = a.shape[static_cast<std::size_t>(over.a[i])], other = b.shape[static_cast<std::size_t>(over.b[i])];
    if (one != other) {
      return refuse(DiagnosticKind::shape, "tensordot", inputs,
                    "axis " + std::to_string(over.a[i]) + " has the extent " + std::to_string(one) + ", axis " + std::to_string(over.b[i]) +
                        " of the other " + std::to_string(other));
    }
  }
  return over;
}
Integers other_axes(int rank, const Integers& axes) {
  Integers others;
  for (std::int64_t axis = 0; axis < rank; ++axis)
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) others.push_back(axis);
  return others;
}
Shape extents(const Shape& shape, const Integers& axes) {
  Shape result;
  for (const std::int64_t axis : axes) result.push_back(shape[static_cast<std::size_t>(axis)]);
  return result;
}
std::int64_t product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}
Integers joined(Integers first, const Integers& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TypeResult tensordot_type(Types inputs, const Attributes& attributes) {
  if (inputs[0].dtype == DType::boolean) return needs_numbers("tensordot", inputs);
  const auto found = contraction_of(inputs, attributes);
  if (const auto* refused = std::get_if<TypeError>(&found)) return *refused;
  const auto& [a, b] = std::get<0>(found);
  return give(
      "tensordot", inputs,
      {dot_dtype(inputs[0].dtype, product(extents(inputs[0].shape, a))),
       joined(extents(inputs[0].shape, other_axes(inputs[0].rank(), a)), extents(inputs[1].shape, other_axes(inputs[1].rank(), b)))});
}
/// Traces the call into one matrix product.
Parts expand_tensordot(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const std::vector<TensorType> types = {inputs[0].type(), inputs[1].type()};
  const auto over = std::get<0>(contraction_of(types, attributes));
  const Integers a_free = other_axes(types[0].rank(), over.a), b_free = other_axes(types[1].rank(), over.b);
  const Shape rows = extents(types[0].shape, a_free), columns = extents(types[1].shape, b_free);
  const std::int64_t depth = product(extents(types[0].shape, over.a));
  const Part a = c.reshape(c(op::permute_dims, {inputs[0]}, {{"axes", joined(a_free, over.a)}}), {product(rows), depth});
  const Part b = c.reshape(c(op::permute_dims, {inputs[1]}, {{"axes", joined(over.b, b_free)}}), {depth, product(columns)});
  return {c.reshape(c(op::matmul, {a, b}), joined(rows, columns))};
}

TypeResult cross_type(Types inputs, const Attributes& attributes) {
  if (inputs[0].dtype == DType::boolean) return needs_numbers("cross", inputs);
  const auto axis = attributes.get<std::int64_t>("axis");
  if (axis >= 0) return refuse(DiagnosticKind::value, "cross", inputs, "`axis` counts from the end: it must be negative");
  for (const TensorType& x : inputs) {
    const auto along = find_axis(axis, x.rank());
    if (!along) return no_axis("cross", inputs, axis, x.rank());
    if (const std::int64_t extent = x.shape[static_cast<std::size_t>(*along)]; extent != 3)
      return refuse(DiagnosticKind::shape, "cross", inputs, "takes vectors of 3 elements, not " + std::to_string(extent));
  }
  auto shape = broadcast(inputs[0].shape, inputs[1].shape);
  if (!shape) return refuse(DiagnosticKind::shape, "cross", inputs, "the shapes do not broadcast");
  return give("cross", inputs, {inputs[0].dtype, *std::move(shape)});
}
Parts expand_cross(Composer& c, const Parts& inputs, const Attributes& attributes) {
  const auto axis = attributes.get<std::int64_t>("axis");
  const auto component = [&](const Part& x, std::int64_t i) {
    const auto along = static_cast<std::size_t>(x.rank() + axis);
    const Shape shape = x.shape();
    Integers starts(along, 0), stops(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(along));
    starts.push_back(i);
    stops.push_back(i + 1);
    return c(op::slice, {x}, {{"starts", std::move(starts)}, {"stops", std::move(stops)}});
  };
  Parts parts;
  for (const std::int64_t i : {0, 1, 2}) {
    const std::int64_t j = (i + 1) % 3, k = (i + 2) % 3;
    parts.push_back(c.subtract(c.multiply(component(inputs[0], j), component(inputs[1], k)),
                               c.multiply(component(inputs[0], k), component(inputs[1], j))));
  }
  return {c(op::concat, parts, {{"axis", axis}})};
}

}  // namespace

constexpr OpDef op::diff = Record("diff(x, n?, axis?)", 1, {with_default("n", Type::integer, std::int64_t{1}), kLastAxis},
                                  "each element less the one before it along an axis, `n` times", diff_type, expand_diff);

constexpr OpDef op::logsumexp = Record("logsumexp(x, axis?, keepdims?)", 1, {kAxesOrAll, kKeepdims},
                                       "`log(sum(exp(x)))` over the axes (absent: all), without overflow", logsumexp_type, expand_logsumexp)
                                    .with_lengths(lengths::reduction<Neutral::lowest>)
                                    .promoting(Promotion::floating);

constexpr OpDef op::count_nonzero =
    Record("count_nonzero(x, axis?, keepdims?)", 1, {kAxesOrAll, kKeepdims},
           "how many elements are not zero, over the axes (absent: all); i32, or i64 of 2^31 elements or more",
           over_axes_type<"count_nonzero", SumResult::count>, expand_count);

constexpr OpDef op::vecdot =
    Record("vecdot(x1, x2, axis?)", 2, {kLastAxis}, "products along an axis, summed, in the type that `matmul` gives; `axis` is negative",
           vecdot_type, expand_vecdot)
        .promoting(Promotion::common);

constexpr OpDef op::outer =
    Record("outer(x1, x2)", 2, {}, "products of each element of a vector with each of another", outer_type, expand_outer)
        .promoting(Promotion::common);

constexpr OpDef op::tensordot =
    Record("tensordot(x1, x2, axes?, a_axes?, b_axes?)", 2,
           {optional("axes", Type::integer), optional("a_axes", Type::integers), optional("b_axes", Type::integers)},
           "products summed over the last `axes` axes of x1 and the first of x2, or over named pairs of axes, in the type that "
           "`matmul` gives",
           tensordot_type, expand_tensordot)
        .promoting(Promotion::common);

constexpr OpDef op::cross = Record("cross(x1, x2, axis?)", 2, {kLastAxis},
                                   "cross products of vectors of 3 elements along an axis; `axis` is negative", cross_type, expand_cross)
                                .promoting(Promotion::common);

constexpr OpDef op::vector_norm =
    Record("vector_norm(x, axis?, keepdims?, ord?)", 1, {kAxesOrAll, kKeepdims, with_default("ord", Type::number, 2.0)},
           "`sum(abs(x) ** ord) ** (1 / ord)` over the axes (absent: all)", over_axes_type<"vector_norm", SumResult::same>,
           expand_vector_norm)
        .promoting(Promotion::floating);

constexpr OpDef op::matrix_norm =
    Record("matrix_norm(x, ord?, keepdims?)", 1, {with_default("ord", Type::text, "fro"), with_default("keepdims", Type::boolean, false)},
           "norm of the matrices in the last two axes: \"fro\", \"nuc\", \"1\", \"-1\", \"2\", \"-2\", \"inf\", \"-inf\"", matrix_norm_type,
           expand_matrix_norm)
        .promoting(Promotion::floating);

namespace {

Attributes attributes_of(const ReduceOptions& options) {
  Attributes attributes = axis(options.axis);
  attributes.set("keepdims", options.keepdims);
  return attributes;
}

}  // namespace
}  // namespace ops

using ops::call;

Tensor diff(const Tensor& x, const DiffOptions& options, Here here) {
  return call(op::diff, {x}, {{"n", options.n}, {"axis", std::int64_t{options.axis}}}, here);
}
Tensor logsumexp(const Tensor& x, const ReduceOptions& options, Here here) {
  return call(op::logsumexp, {x}, ops::attributes_of(options), here);
}
Tensor count_nonzero(const Tensor& x, const ReduceOptions& options, Here here) {
  return call(op::count_nonzero, {x}, ops::attributes_of(options), here);
}
Tensor vecdot(const Tensor& a, const Tensor& b, int axis, Here here) {
  return call(op::vecdot, {a, b}, {{"axis", std::int64_t{axis}}}, here);
}
Tensor outer(const Tensor& a, const Tensor& b, Here here) {
  return call(op::outer, {a, b}, {}, here);
}
Tensor tensordot(const Tensor& a, const Tensor& b, std::int64_t axes, Here here) {
  return call(op::tensordot, {a, b}, {{"axes", axes}}, here);
}
Tensor tensordot(const Tensor& a, const Tensor& b, std::vector<std::int64_t> a_axes, std::vector<std::int64_t> b_axes, Here here) {
  return call(op::tensordot, {a, b}, {{"a_axes", std::move(a_axes)}, {"b_axes", std::move(b_axes)}}, here);
}
Tensor cross(const Tensor& a, const Tensor& b, int axis, Here here) {
  return call(op::cross, {a, b}, {{"axis", std::int64_t{axis}}}, here);
}
Tensor vector_norm(const Tensor& x, const VectorNormOptions& options, Here here) {
  Attributes attributes = ops::attributes_of({options.axis, options.keepdims});
  attributes.set("ord", options.ord);
  return call(op::vector_norm, {x}, std::move(attributes), here);
}
Tensor matrix_norm(const Tensor& x, std::string ord, bool keepdims, Here here) {
  return call(op::matrix_norm, {x}, {{"ord", std::move(ord)}, {"keepdims", keepdims}}, here);
}

}  // namespace cleave
