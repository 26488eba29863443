// fft, ifft, rfft and irfft. The reference implementation computes the defining sums in double.
#include "graph/ops/fourier.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "graph/base/stop.h"
#include "graph/ops/calls.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"

namespace cleave {
namespace ops {
namespace {

using Type = AttributeDef::Type;

/// Products of a shape's extents before, along and behind the transformed axis, without the axis of pairs.
struct FourierLines {
  std::int64_t before = 1, extent = 1, behind = 1;

  FourierLines(const Shape& shape, bool pairs, std::int64_t axis) {
    const int rank = static_cast<int>(shape.size()) - (pairs ? 1 : 0), along = *find_axis(axis, rank);
    extent = shape[static_cast<std::size_t>(along)];
    for (int a = 0; a < rank; ++a)
      (a < along ? before : a > along ? behind : extent) *= a == along ? 1 : shape[static_cast<std::size_t>(a)];
  }
};

template <Name op, bool pairs_in, bool pairs_out>
TypeResult fourier_type(Types inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  if (x.dtype != DType::f32 && x.dtype != DType::f64)
    return refuse(DiagnosticKind::type, op.view(), inputs, "computes in f32 or f64; convert with astype");
  if (pairs_in && (x.scalar() || x.shape.back() != 2)) {
    return refuse(DiagnosticKind::shape, op.view(), inputs,
                  "needs complex numbers as pairs along a last axis of extent 2; of real ones `rfft` is the transform");
  }
  const int rank = x.rank() - (pairs_in ? 1 : 0);
  const auto axis = attributes.get_or<std::int64_t>("axis", -1);
  const auto along = find_axis(axis, rank);
  if (!along) return no_axis(op.view(), inputs, axis, rank);
  TensorType result = x;
  std::int64_t& extent = result.shape[static_cast<std::size_t>(*along)];
  if (extent == 0) return refuse(DiagnosticKind::shape, op.view(), inputs, "there is nothing along the axis");
  if (pairs_in == pairs_out) return give(op.view(), inputs, std::move(result));
  if (pairs_out) {
    extent = extent / 2 + 1;
    result.shape.push_back(2);
    return give(op.view(), inputs, std::move(result));
  }
  const std::int64_t even = 2 * (extent - 1);
  const auto n = attributes.get_or<std::int64_t>("n", even);
  if (n < 1 || (n != even && n != even + 1)) {
    return refuse(DiagnosticKind::value, op.view(), inputs,
                  "`n` is " + std::to_string(n) + "; " + std::to_string(extent) + " complex numbers are the transform of " +
                      (even > 0 ? std::to_string(even) + " or " : "") + std::to_string(even + 1) + " real ones");
  }
  extent = n;
  result.shape.pop_back();
  return give(op.view(), inputs, std::move(result));
}

struct Complex {
  double re = 0, im = 0;
};

/// The discrete Fourier transform of length `n`; `sign` is that of the exponent. If `x` is shorter, element j beyond its end is the
/// conjugate of element n - j.
std::vector<Complex> transform(const std::vector<Complex>& x, std::int64_t n, double sign) {
  std::vector<Complex> result(static_cast<std::size_t>(n));
  const auto extent = static_cast<std::int64_t>(x.size());
  StopLooks looks;
  for (std::int64_t k = 0; k < n; ++k) {
    Complex& sum = result[static_cast<std::size_t>(k)];
    for (std::int64_t j = 0; j < n; ++j) {
      looks.worked(16);
      Complex of = x[static_cast<std::size_t>(j < extent ? j : n - j)];
      if (j >= extent) of.im = -of.im;
      const double turn = sign * 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      sum.re += of.re * std::cos(turn) - of.im * std::sin(turn);
      sum.im += of.re * std::sin(turn) + of.im * std::cos(turn);
    }
  }
  return result;
}

template <class T, bool pairs_in, bool pairs_out, bool forward>
void transform_lines(const OpCall& call) {
  if (call.results[0].size() == 0) return;
  const auto axis = call.attributes.get_or<std::int64_t>("axis", -1);
  const FourierLines in(call.inputs[0].shape(), pairs_in, axis), out(call.results[0].shape(), pairs_out, axis);
  const T* from = call.inputs[0].data<T>();
  T* to = call.results[0].mutable_data<T>();
  const std::int64_t n = pairs_in && !pairs_out ? out.extent : in.extent;
  constexpr int kIn = pairs_in ? 2 : 1, kOut = pairs_out ? 2 : 1;
  std::vector<Complex> line(static_cast<std::size_t>(in.extent));
  for (std::int64_t i = 0; i < in.before; ++i) {
    for (std::int64_t q = 0; q < in.behind; ++q) {
      StopLooks looks;
      for (std::int64_t j = 0; j < in.extent; ++j) {
        looks.worked();
        const T* x = from + ((i * in.extent + j) * in.behind + q) * kIn;
        line[static_cast<std::size_t>(j)] = {static_cast<double>(x[0]), pairs_in ? static_cast<double>(x[kIn - 1]) : 0};
      }
      if (pairs_in && !pairs_out) {  // these coefficients of a real signal are real
        line[0].im = 0;
        if (n % 2 == 0) line.back().im = 0;
      }
      const std::vector<Complex> made = transform(line, n, forward ? -1 : 1);
      for (std::int64_t k = 0; k < out.extent; ++k) {
        T* y = to + ((i * out.extent + k) * out.behind + q) * kOut;
        const double scale = forward ? 1 : 1 / static_cast<double>(n);
        y[0] = static_cast<T>(made[static_cast<std::size_t>(k)].re * scale);
        if (pairs_out) y[kOut - 1] = static_cast<T>(made[static_cast<std::size_t>(k)].im * scale);
      }
    }
  }
}

template <bool pairs_in, bool pairs_out, bool forward>
Status fourier_reference(const OpCall& call) {
  if (call.results[0].size() == 0) return {};
  if (call.inputs[0].dtype() == DType::f32) {
    transform_lines<float, pairs_in, pairs_out, forward>(call);
  } else {
    transform_lines<double, pairs_in, pairs_out, forward>(call);
  }
  return {};
}

/// 5 n log n for n complex numbers, half of it for n real ones.
Cost fourier_cost(Types inputs, Types results, const Attributes&) {
  const auto numbers = static_cast<double>(std::max(inputs[0].elements(), results[0].elements())) / 2;
  return {5 * numbers * std::log2(numbers + 2), traffic(inputs, results)};
}

}  // namespace

constexpr OpDef op::fft =
    Record("fft(x, axis?)", 1, {kLastAxis}, "Fourier's transform of complex numbers, pairs along a last axis that `axis` does not count",
           fourier_type<"fft", true, true>, fourier_cost, fourier_reference<true, true, true>)
        .promoting(Promotion::floating)
        .of_class(CostClass::transform)
        .differentiated(gradients::fft);

constexpr OpDef op::ifft = Record("ifft(x, axis?)", 1, {kLastAxis}, "undoes `fft`", fourier_type<"ifft", true, true>, fourier_cost,
                                  fourier_reference<true, true, false>)
                               .promoting(Promotion::floating)
                               .of_class(CostClass::transform)
                               .differentiated(gradients::ifft);

constexpr OpDef op::rfft =
    Record("rfft(x, axis?)", 1, {kLastAxis}, "Fourier's transform of real numbers: the first `n // 2 + 1` complex ones, as pairs",
           fourier_type<"rfft", false, true>, fourier_cost, fourier_reference<false, true, true>)
        .promoting(Promotion::floating)
        .of_class(CostClass::transform)
        .differentiated(gradients::rfft);

constexpr OpDef op::irfft = Record("irfft(x, n?, axis?)", 1, {optional("n", Type::integer), kLastAxis},
                                   "undoes `rfft`, to `n` real numbers (absent: an even number of them)",
                                   fourier_type<"irfft", true, false>, fourier_cost, fourier_reference<true, false, false>)
                                .promoting(Promotion::floating)
                                .of_class(CostClass::transform)
                                .differentiated(gradients::irfft);

}  // namespace ops

Tensor fft(const Tensor& x, const FourierOptions& options, Here here) {
  return ops::call(op::fft, {x}, ops::axis(std::optional<int>(options.axis)), here);
}
Tensor ifft(const Tensor& x, const FourierOptions& options, Here here) {
  return ops::call(op::ifft, {x}, ops::axis(std::optional<int>(options.axis)), here);
}
Tensor rfft(const Tensor& x, const FourierOptions& options, Here here) {
  return ops::call(op::rfft, {x}, ops::axis(std::optional<int>(options.axis)), here);
}
Tensor irfft(const Tensor& x, const RealFourierOptions& options, Here here) {
  Attributes attributes = ops::axis(std::optional<int>(options.axis));
  if (options.n) attributes.set("n", *options.n);
  return ops::call(op::irfft, {x}, std::move(attributes), here);
}

}  // namespace cleave
