// Lowerings of reductions, ArgMax and ArgMin, and cumulative sums and products.
#include <limits>
#include <numeric>

#include "models/onnx/lengths.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

/// The axes to reduce, counted from the front; if empty, each element alone.
struct Over {
  Integers axes;
  bool keepdims = true;

  [[nodiscard]] Attributes attributes() const { return {{"axis", axes}, {"keepdims", keepdims}}; }
};

std::optional<Over> over(Call& c) {
  Over over{{}, c.flag("keepdims", true)};
  const auto given = c.integers_at(1, "axes", "the shape of its result");
  if (!given && c.has(1)) return std::nullopt;
  const bool nothing = c.flag("noop_with_empty_axes");
  if (given && !given->empty()) {
    auto axes = c.axes(*given, c[0].rank());
    if (!axes) return std::nullopt;
    over.axes = *std::move(axes);
  } else if (!nothing) {
    over.axes.resize(c[0].shape().size());
    std::iota(over.axes.begin(), over.axes.end(), 0);
  }
  return over;
}

Part reduced(Call& c, const OpDef& function, const Part& x, const Over& over) {
  return over.axes.empty() ? x : c(function, {x}, over.attributes());
}

/// The result of a maximum or minimum over no elements: its identity.
Part extreme(Call& c, DType dtype, bool lowest, const Over& over) {
  Shape shape = c[0].shape(), result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool gone = std::find(over.axes.begin(), over.axes.end(), static_cast<std::int64_t>(axis)) != over.axes.end();
    if (!gone || over.keepdims) result.push_back(gone ? 1 : shape[axis]);
  }
  Array array(TensorType{dtype, {}});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      *array.mutable_data<T>() = T(lowest ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity());
    else if constexpr (std::is_floating_point_v<T>)
      *array.mutable_data<T>() = lowest ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
    else
      *array.mutable_data<T>() = lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  });
  return c(op::broadcast_to, {c.constant(std::move(array))}, {{"shape", result}});
}

/// ReduceMax, ReduceMin.
Values reduce_extreme(Call& c) {
  const std::optional<Over> found = over(c);
  if (!found) return c.poison();
  const bool largest = &c.function() == &op::max;
  if (c[0].type().elements() == 0 && !found->axes.empty()) return {extreme(c, c[0].dtype(), largest, *found)};
  if (c[0].dtype() == DType::boolean) return {reduced(c, largest ? op::any : op::all, c[0], *found)};
  return {reduced(c, c.function(), c[0], *found)};
}

/// ReduceSum, ReduceProd: the result has the operand's type.
Values reduce(Call& c) {
  const std::optional<Over> found = over(c);
  return found ? Values{c.as(c[0].dtype(), reduced(c, c.function(), c[0], *found))} : c.poison();
}

/// The mean of integers is computed in f64 and rounded towards zero.
Values reduce_mean(Call& c) {
  const std::optional<Over> found = over(c);
  if (!found) return c.poison();
  const DType dtype = c[0].dtype();
  const Part x = is_floating(dtype) ? c[0] : c.as(DType::f64, c[0]);
  const auto depends = [&](std::int64_t axis) { return length_of(c, x, static_cast<int>(axis)).has_value(); };
  if (std::none_of(found->axes.begin(), found->axes.end(), depends)) return {c.as(dtype, reduced(c, op::mean, x, *found))};
  Part count = c.scalar(std::int64_t{1});
  for (const std::int64_t axis : found->axes) count = c.multiply(count, extent_of(c, x, static_cast<int>(axis)));
  const Part sum = reduced(c, op::sum, c.as(promote(x.dtype(), DType::f32), x), *found);
  const Part divisor = c(op::maximum, {count, c.scalar(std::int64_t{1})});  // the mean of nothing is 0, as ONNX Runtime has it
  return {c.as(dtype, c.divide(sum, c.as(sum.dtype(), divisor)))};
}

/// The sum of `function` over the elements, then `finish`.
template <class Finish>
Values sum_of(Call& c, const OpDef* function, const Finish& finish) {
  const std::optional<Over> found = over(c);
  if (!found) return c.poison();
  const Part each = function ? c(*function, {c[0]}) : c[0];
  return {c.as(c[0].dtype(), finish(reduced(c, op::sum, each, *found)))};
}

Values reduce_l1(Call& c) {
  return sum_of(c, is_floating(c[0].dtype()) || is_signed(c[0].dtype()) ? &op::abs : nullptr, [](const Part& sum) { return sum; });
}

Values reduce_l2(Call& c) {
  return sum_of(c, &op::square, [&](const Part& sum) { return c(op::sqrt, {is_floating(sum.dtype()) ? sum : c.as(DType::f64, sum)}); });
}

Values reduce_sum_square(Call& c) {
  return sum_of(c, &op::square, [](const Part& sum) { return sum; });
}

Values reduce_log_sum(Call& c) {
  return sum_of(c, nullptr, [&](const Part& sum) { return c(op::log, {is_floating(sum.dtype()) ? sum : c.as(DType::f64, sum)}); });
}

Values reduce_log_sum_exp(Call& c) {
  const std::optional<Over> found = over(c);
  if (!found) return c.poison();
  const DType dtype = c[0].dtype();
  if (found->axes.empty()) return {c[0]};
  if (c[0].type().elements() == 0) return {extreme(c, dtype, true, *found)};
  return {c.as(dtype, c(op::logsumexp, {is_floating(dtype) ? c[0] : c.as(DType::f64, c[0])}, found->attributes()))};
}

/// The first index of the largest or smallest element, or with `select_last_index` the last one.
Values place(Call& c) {
  const std::optional<int> axis = c.axis(c.integer("axis", 0), c[0].rank());
  const bool keepdims = c.flag("keepdims", true), last = c.flag("select_last_index");
  if (!axis) return c.poison();
  const Integers axes{*axis};
  const Part x = last ? c(op::flip, {c[0]}, {{"axis", axes}}) : c[0];
  Part index = c(c.function(), {x}, {{"axis", axes}, {"keepdims", keepdims}});
  if (last) index = c.subtract(c[0].shape()[static_cast<std::size_t>(*axis)] - 1, index);
  return {c.as(DType::i64, index)};
}

/// CumSum, CumProd.
Values running(Call& c) {
  const bool exclusive = c.flag("exclusive"), reverse = c.flag("reverse");
  const auto given = c.known_integers(1, "along which axis it goes");
  if (!given) return c.poison();
  if (given->size() != 1) return c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "` takes one axis");
  const std::optional<int> axis = c.axis(given->front(), c[0].rank());
  if (!axis) return c.poison();
  const Part sums = c(c.function(), {c[0]}, {{"axis", std::int64_t{*axis}}, {"exclusive", exclusive}, {"reverse", reverse}});
  return {c.as(c[0].dtype(), sums)};
}

}  // namespace

std::span<const Lowering> reduction_lowerings() {
  static constexpr Lowering kRows[] = {
      {"ArgMax", 1, place, &op::argmax, true},
      {"ArgMin", 1, place, &op::argmin, true},
      {"CumProd", 26, running, &op::cumulative_prod, true},
      {"CumSum", 11, running, &op::cumulative_sum, true},
      {"ReduceL1", 1, reduce_l1, {}, true},
      {"ReduceL2", 1, reduce_l2, {}, true},
      {"ReduceLogSum", 1, reduce_log_sum, {}, true},
      {"ReduceLogSumExp", 1, reduce_log_sum_exp, {}, true},
      {"ReduceMax", 1, reduce_extreme, &op::max, true},
      {"ReduceMean", 1, reduce_mean, {}, true},
      {"ReduceMin", 1, reduce_extreme, &op::min, true},
      {"ReduceProd", 1, reduce, &op::prod, true},
      {"ReduceSum", 1, reduce, &op::sum, true},
      {"ReduceSumSquare", 1, reduce_sum_square, {}, true},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
