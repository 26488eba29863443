#include "executor/check/error_bound.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "graph/base/check.h"
#include "graph/base/stop.h"
#include "graph/ops/rules.h"
#include "graph/vocabulary.h"

namespace cleave::runtime {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The type in which a kernel computes partial results of floating elements.
enum class Takes : std::uint8_t { numbers, doubles };  ///< in f32, or f64 for f64; or always in f64

struct Bounded;
using Bound = Array (*)(const Bounded& of);

struct Row {
  std::string_view op;
  Takes takes;
  Bound bound;
};

/// The call for which a bound is computed.
struct Bounded {
  const Row& row;
  const OpDef& op;
  const Attributes& attributes;
  std::span<const Array> inputs;

  [[nodiscard]] double unit_roundoff() const {
    return row.takes == Takes::doubles || inputs[0].dtype() == DType::f64 ? DBL_EPSILON / 2 : static_cast<double>(FLT_EPSILON) / 2;
  }
  [[nodiscard]] double largest() const {
    return row.takes == Takes::doubles || inputs[0].dtype() == DType::f64 ? DBL_MAX : static_cast<double>(FLT_MAX);
  }
  /// The reference implementation's result for f64 operands, whose elements are the call's after `change`.
  template <class Change>
  [[nodiscard]] Array result_of(const Change& change) const {
    std::vector<Array> changed;
    std::vector<TensorType> types;
    for (const Array& input : inputs) {
      Array array(TensorType{DType::f64, input.shape()});
      double* out = array.mutable_data<double>();
      each_with_looks(input.size(), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) out[i] = change(input.at(i));
      });
      types.push_back(array.type());
      changed.push_back(std::move(array));
    }
    std::vector<Array> results;
    const TypeResult typed = op.type_rule(types, attributes);
    for (const TensorType& type : std::get<0>(typed)) results.emplace_back(type);
    const OpContext silent{[](std::string_view) {}};
    const Status status = op.reference({attributes, changed, results, silent});
    CLEAVE_CHECK(status.ok(), "a bounded op that fails for some data");
    return std::move(results[0]);
  }
};

// --- sums --------------------------------------------------------------------------------------------------------------------------------

/// The divisor between a sum and the result (a mean's count).
std::int64_t parts_of_mean(const Bounded& of, const Array& result) {
  if (&of.op == &op::mean) return of.inputs[0].size() / std::max<std::int64_t>(1, result.size());
  if (&of.op != &op::avg_pool) return 1;
  std::int64_t taps = 1;
  for (const std::int64_t extent : of.attributes.get<std::vector<std::int64_t>>("kernel_shape")) taps *= extent;
  return taps;
}

/// The maximum number of terms of a sum.
double terms_of(const Bounded& of, const Array& result) {
  if (&of.op == &op::cumulative_sum) {
    const Shape& shape = of.inputs[0].shape();
    return static_cast<double>(shape[*ops::find_axis(of.attributes.get_or<std::int64_t>("axis", 0), static_cast<int>(shape.size()))]);
  }
  std::vector<TensorType> types;
  for (const Array& input : of.inputs) types.push_back(input.type());
  const TensorType& type = result.type();
  const double elements = std::max(1.0, static_cast<double>(result.size()));
  return std::max(static_cast<double>(of.inputs[0].size()), of.op.cost(types, std::span(&type, 1), of.attributes).flops) / elements;
}

/// |sum - exact| <= u f(n) S, where S is the sum of all terms' magnitudes (Higham, (4.4), for every order): f(n) = n - 1 with certainty, or
/// the square root of n times a small number with very high probability (Higham and Mary). S is the same op's result for the operands'
/// magnitudes. Where S exceeds the range of the type, a partial sum may do so too.
Array bound_of_sum(const Bounded& of) {
  constexpr double kSpread = 2;  ///< roughly the number of standard deviations
  Array bound = of.result_of([](double x) { return std::fabs(x); });
  const double by = kSpread * of.unit_roundoff() * std::sqrt(terms_of(of, bound)), most = of.largest() * (1 - 1e-6);
  const auto parts = static_cast<double>(parts_of_mean(of, bound));
  double* sums = bound.mutable_data<double>();
  for (std::int64_t i = 0; i < bound.size(); ++i) sums[i] = sums[i] * parts > most ? kInfinity : by * sums[i];
  return bound;
}

// --- products ----------------------------------------------------------------------------------------------------------------------------

/// Products have a small relative error in every order (Higham, lemma 3.1), unless a partial product leaves the range of the type: it is
/// at most the product of all factors of magnitude 1 or more, and at least that of all others.
Array bound_of_product(const Bounded& of) {
  Array bound = of.result_of([](double x) { return std::max(std::fabs(x), 1.0); });
  const Array least = of.result_of([](double x) { return x == 0 ? 1.0 : std::min(std::fabs(x), 1.0); });
  double* products = bound.mutable_data<double>();
  for (std::int64_t i = 0; i < bound.size(); ++i) {
    const bool leaves = !(products[i] <= DBL_MAX) || !(least.data<double>()[i] >= DBL_MIN);
    products[i] = leaves ? kInfinity : 0;
  }
  return bound;
}

// --- Fourier transforms --------------------------------------------------------------------------------------------------------------

/// |y - exact| in the 2-norm is at most about u log2(n) |y| (Higham, theorem 24.2), distributed evenly over the elements. |y| is at most n
/// times the largest element of x.
Array bound_of_transform(const Bounded& of) {
  constexpr double kTransforms = 20;  ///< lengths with large prime factors are convolutions, which need three transforms
  double largest = 0;
  for (std::int64_t i = 0; i < of.inputs[0].size(); ++i) largest = std::max(largest, std::fabs(of.inputs[0].at(i)));
  std::vector<TensorType> results = std::get<0>(of.op.type_rule(std::vector{of.inputs[0].type()}, of.attributes));
  Array bound(TensorType{DType::f64, results[0].shape});
  double n = 1;
  for (const Shape* shape : {&of.inputs[0].shape(), static_cast<const Shape*>(&results[0].shape)})
    for (const std::int64_t extent : *shape) n = std::max(n, static_cast<double>(extent));
  const bool undoes = &of.op == &op::ifft || &of.op == &op::irfft;
  const double each = kTransforms * of.unit_roundoff() * std::log2(n + 1) * std::sqrt(n) * largest / (undoes ? n : 1);
  std::fill_n(bound.mutable_data<double>(), bound.size(), each * n > of.largest() ? kInfinity : each);
  return bound;
}

constexpr Row kRows[] = {
    {"matmul", Takes::numbers, bound_of_sum},     {"conv", Takes::numbers, bound_of_sum},
    {"avg_pool", Takes::numbers, bound_of_sum},   {"sum", Takes::doubles, bound_of_sum},
    {"mean", Takes::doubles, bound_of_sum},       {"cumulative_sum", Takes::doubles, bound_of_sum},
    {"prod", Takes::doubles, bound_of_product},   {"cumulative_prod", Takes::doubles, bound_of_product},
    {"fft", Takes::numbers, bound_of_transform},  {"ifft", Takes::numbers, bound_of_transform},
    {"rfft", Takes::numbers, bound_of_transform}, {"irfft", Takes::numbers, bound_of_transform},
};

}  // namespace

std::optional<Array> error_bound(const OpDef& op, const Attributes& attributes, std::span<const Array> inputs) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& each) { return each.op == op.name; });
  if (row == std::end(kRows) || inputs.empty() || !is_floating(inputs[0].dtype())) return std::nullopt;
  return row->bound({*row, op, attributes, inputs});
}

}  // namespace cleave::runtime
