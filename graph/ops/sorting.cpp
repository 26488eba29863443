// sort, argsort, top_k and unique. All use one order: numbers by size, then NaN; equal elements keep their order.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/base/stop.h"
#include "graph/ops/forms.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/ops/wrapping.h"

namespace cleave::ops {
namespace {

using Type = AttributeDef::Type;

/// The lines of an array along `axis`: element k of line i is at the offset start(i) + k * step.
struct SortedLines {
  std::int64_t extent = 1, step = 1, count = 1;

  SortedLines(const Shape& shape, int axis) : extent(shape[axis]) {
    for (std::size_t a = 0; a < shape.size(); ++a) {
      if (static_cast<int>(a) != axis) count *= shape[a];
      if (static_cast<int>(a) > axis) step *= shape[a];
    }
  }
  [[nodiscard]] std::int64_t start(std::int64_t line) const { return line / step * step * extent + line % step; }
};

template <class T>
bool comes_before(T a, T b) {
  const auto x = load(a), y = load(b);
  return x < y || (x == x && y != y);
}

/// The positions of the elements of one line, in sorted order.
template <class T>
std::vector<std::int32_t> order_of(const T* line, std::int64_t extent, std::int64_t step, bool descending) {
  std::vector<std::int32_t> order;
  order.reserve(static_cast<std::size_t>(extent));
  each_with_looks(extent, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) order.push_back(static_cast<std::int32_t>(i));
  });
  StopLooks looks;
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    looks.worked();
    return descending ? comes_before(line[j * step], line[i * step]) : comes_before(line[i * step], line[j * step]);
  });
  return order;
}

/// The type rule of `argsort` (`gives_indices`) and `sort`.
TypeResult sorting_type(std::string_view op, bool gives_indices, Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const auto axis = attributes.get_or<std::int64_t>("axis", -1);
  const auto along = find_axis(axis, x.rank());
  if (!along) return no_axis(op, inputs, axis, x.rank());
  if (x.shape[*along] > std::numeric_limits<std::int32_t>::max())
    return refuse(DiagnosticKind::shape, op, inputs, "too many elements for i32 indices");
  return give(op, inputs, {gives_indices ? DType::i32 : x.dtype, x.shape});
}

template <bool gives_indices>
Status sorting_reference(const OpCall& call) {
  const Array& x = call.inputs[0];
  const SortedLines lines(x.shape(), *find_axis(call.attributes.get_or<std::int64_t>("axis", -1), x.type().rank()));
  const bool descending = call.attributes.get_or("descending", false);
  if (x.size() == 0) return {};
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    auto* out = call.results[0].mutable_data<std::conditional_t<gives_indices, std::int32_t, T>>();
    for (std::int64_t line = 0; line < lines.count; ++line) {
      const std::int64_t start = lines.start(line);
      const auto order = order_of(in + start, lines.extent, lines.step, descending);
      StopLooks looks;
      for (std::int64_t k = 0; k < lines.extent; ++k) {
        looks.worked(4);
        if constexpr (gives_indices) {
          out[start + k * lines.step] = order[k];
        } else {
          out[start + k * lines.step] = in[start + order[k] * lines.step];
        }
      }
    }
  });
  return {};
}

// --- top_k -------------------------------------------------------------------------------------------------------------------------------

TypeResult top_k_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const auto k = attributes.get<std::int64_t>("k");
  if (x.scalar()) return no_axis("top_k", inputs, -1, 0);
  if (k < 0) return refuse(DiagnosticKind::value, "top_k", inputs, "`k` must not be negative");
  if (k > x.shape.back()) {
    return refuse(DiagnosticKind::shape, "top_k", inputs,
                  "there are no " + std::to_string(k) + " elements along the last axis of extent " + std::to_string(x.shape.back()));
  }
  if (x.shape.back() > std::numeric_limits<std::int32_t>::max())
    return refuse(DiagnosticKind::shape, "top_k", inputs, "too many elements for i32 indices");
  TensorType values = x;
  values.shape.back() = k;
  return give("top_k", inputs, {values, {DType::i32, values.shape}});
}

Status top_k_reference(const OpCall& call) {
  const Array& x = call.inputs[0];
  const std::int64_t k = call.results[0].shape().back(), extent = x.shape().back();
  if (call.results[0].size() == 0) return {};
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* values = call.results[0].mutable_data<T>();
    auto* indices = call.results[1].mutable_data<std::int32_t>();
    for (std::int64_t line = 0; line < x.size() / extent; ++line) {
      const auto order = order_of(in + line * extent, extent, 1, true);
      StopLooks looks;
      for (std::int64_t i = 0; i < k; ++i) {
        looks.worked(4);
        indices[line * k + i] = order[i];
        values[line * k + i] = in[line * extent + order[i]];
      }
    }
  });
  return {};
}

// --- unique ------------------------------------------------------------------------------------------------------------------------------

TypeResult unique_type(Types inputs, const Attributes&) {
  const std::int64_t size = inputs[0].elements();
  if (size > std::numeric_limits<std::int32_t>::max())
    return refuse(DiagnosticKind::shape, "unique", inputs, "too many elements for an i32 count");
  return give("unique", inputs, {{inputs[0].dtype, {size}}, {DType::i32, {}}});
}

Status unique_reference(const OpCall& call) {
  const Array& x = call.inputs[0];
  if (x.size() == 0) return {};
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.data<T>();
    T* values = call.results[0].mutable_data<T>();
    std::int32_t count = 0;
    for (const std::int32_t i : order_of(in, x.size(), 1, false)) {
      if (count == 0 || load(values[count - 1]) != load(in[i])) values[count++] = in[i];  // NaN differs from NaN: each one is kept
    }
    std::fill(values + count, values + x.size(), values[count - 1]);
    *call.results[1].mutable_data<std::int32_t>() = count;
  });
  return {};
}

/// About n log n comparisons.
Cost sorting_cost(Types inputs, Types results, const Attributes&) {
  const auto elements = static_cast<double>(inputs[0].elements());
  return {elements * std::log2(elements + 2), traffic(inputs, results)};
}

}  // namespace

constexpr OpDef op::sort =
    Record(
        "sort(x, axis?, descending?)", 1, {kLastAxis, with_default("descending", Type::boolean, false)},
        "sorts an axis (the last); NaN counts as larger than every number",
        [](Types inputs, const Attributes& a) { return sorting_type("sort", false, inputs, a); }, sorting_cost, sorting_reference<false>)
        .with_lengths(lengths::sort)
        .of_class(CostClass::sort, form_of_axis)
        .differentiated(gradients::sort);

constexpr OpDef op::argsort =
    Record(
        "argsort(x, axis?, descending?)", 1, {kLastAxis, with_default("descending", Type::boolean, false)},
        "i32 indices that sort an axis (the last); equal elements keep their order",
        [](Types inputs, const Attributes& a) { return sorting_type("argsort", true, inputs, a); }, sorting_cost, sorting_reference<true>)
        .with_lengths(lengths::sort)
        .of_class(CostClass::sort, form_of_axis)
        .differentiated(GradientRule::zero());

constexpr OpDef op::top_k = Record("top_k(x, k)", 1, {required("k", Type::integer)},
                                   "two results: the k largest elements along the last axis, largest first, and their i32 indices",
                                   top_k_type, sorting_cost, top_k_reference)
                                .with_lengths(lengths::top_k)
                                .of_class(CostClass::sort, form_of_axis)
                                .differentiated(gradients::top_k);

constexpr OpDef op::unique =
    Record("unique(x)", 1, {},
           "two results: the distinct elements in order, as many as x has, the rest filled with the last of them; and their i32 "
           "number; each NaN is distinct and stands behind the largest, zeros of either sign are equal",
           unique_type, sorting_cost, unique_reference)
        .of_class(CostClass::sort, form_of_axis)
        .differentiated(GradientRule::none());

}  // namespace cleave::ops
