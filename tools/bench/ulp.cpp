#include "tools/bench/ulp.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "executor/host/simd/loops.h"
#include "graph/ops/scalars.h"

namespace cleave::bench {
namespace {

using runtime::host::levels;
using runtime::host::RowLoop;
using runtime::host::simd_loop;

constexpr std::size_t kPiece = 4096;
constexpr double kWrong = 1e9;

template <class Op>
MathFunction function(double (*exact)(double), long double (*exact_long)(long double), double bound, double both_bound,
                      std::vector<std::uint32_t> worst = {}) {
  return {Op::name,
          exact,
          exact_long,
          [](float x) -> float { return Op::template apply<float>(x); },
          [](double x) -> double { return Op::template apply<double>(x); },
          bound,
          both_bound,
          std::move(worst)};
}

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): the functions of <cmath> are overloaded.
#define OF(f) [](double x) -> double { return f; }, [](long double x) -> long double { return f; }

/// Sets `distance` and returns true where it takes no arithmetic: the numbers are equal, or one of them is NaN or infinite.
template <class T, class Wide>
bool settled(T is, Wide exact, double& distance) {
  distance = 0;
  if (std::isnan(exact)) {
    distance = std::isnan(is) ? 0 : kWrong;
  } else if (static_cast<Wide>(is) == exact) {
    distance = 0;
  } else if (std::isinf(is)) {  // beyond the largest number, infinity is as correct as the numbers that round to it
    distance = std::isinf(static_cast<T>(exact)) && std::signbit(is) == std::signbit(exact) ? 0 : kWrong;
  } else if (std::isnan(is) || std::isinf(exact)) {
    distance = kWrong;
  } else {
    return false;
  }
  return true;
}

/// The unit's reciprocal, 2^(23 - exponent), is made from the exponent's bits, since std::frexp would be too slow in a sweep over all
/// numbers. The distance is NaN if either number is NaN, or both are infinite.
inline double finite_distance(float is, double exact) {
  const std::uint64_t biased = std::max<std::uint64_t>(std::bit_cast<std::uint64_t>(exact) >> 52 & 0x7FF, 1023 - 126);
  return std::fabs(static_cast<double>(is) - exact) * std::bit_cast<double>((2046 + 23 - biased) << 52);
}

/// Whether one of the results may have an error above `worst`, computed without a branch in the loop.
bool may_be_worse(const float* results, const double* exact, std::size_t count, double worst) {
  std::uint32_t worse = 0;
  for (std::size_t i = 0; i < count; ++i) worse += finite_distance(results[i], exact[i]) <= worst ? 0U : 1U;
  return worse != 0;
}

}  // namespace

const std::vector<MathFunction>& math_functions() {
  static const std::vector<MathFunction> functions = {
      function<scalars::Exp>(OF(std::exp(x)), 1.1, 1.1, {0x426D2DBD}),
      function<scalars::Expm1>(OF(std::expm1(x)), 2, 2, {0x3EC90909}),
      function<scalars::Log>(OF(std::log(x)), 1, 1, {0x3F33C59F}),
      function<scalars::Log2>(OF(std::log2(x)), 1.2, 1.2, {0x3FB422DF}),
      function<scalars::Log1p>(OF(std::log1p(x)), 1.1, 1.2, {0xBE98CD4D}),
      function<scalars::Tanh>(OF(std::tanh(x)), 2.6, 2.6, {0x3D7F6679}),
      function<scalars::Sigmoid>(OF(1 / (1 + std::exp(-x))), 2.5, 2.5, {0xC085088D}),
      function<scalars::Sinh>(OF(std::sinh(x)), 2.5, 2.5, {0x3DFECBAA}),
      function<scalars::Cosh>(OF(std::cosh(x)), 2, 2, {0x42B2C4C6}),
      function<scalars::Erf>(OF(std::erf(x)), 1.1, 1.5, {0x3F88ABC2}),
      function<scalars::Gelu>(OF(x / 2 * std::erfc(-x * std::sqrt(decltype(x)(0.5)))), 4.5, 6, {0xBE0F3B38}),
      function<scalars::Sin>(OF(std::sin(x)), 1.6, 1, {0x484964E3}),
      function<scalars::Cos>(OF(std::cos(x)), 1.6, 1, {0x48F404E7}),
      function<scalars::Tan>(OF(std::tan(x)), 4, 2.5, {0x407AF910}),
      function<scalars::Asin>(OF(std::asin(x)), 1.5, 1.5, {0x3F06D395}),
      function<scalars::Acos>(OF(std::acos(x)), 1.5, 1.5, {0x3F0B717E}),
      function<scalars::Atan>(OF(std::atan(x)), 2, 2, {0x3EDA92E5}),
      function<scalars::Log10>(OF(std::log10(x)), 1.5, 1.5),
      function<scalars::Asinh>(OF(std::asinh(x)), 3, 3),
      function<scalars::Acosh>(OF(std::acosh(x)), 3, 3),
      function<scalars::Atanh>(OF(std::atanh(x)), 3, 3),
      function<scalars::Sqrt>(OF(std::sqrt(x)), 0.5, 0.5),
      function<scalars::Rsqrt>(OF(1 / std::sqrt(x)), 1.5, 1.5, {0x0080CAB3}),
      function<scalars::Reciprocal>(OF(1 / x), 0.5, 0.5),
  };
  return functions;
}

double distance_in_ulp(float is, double exact) {
  double distance = 0;
  return settled(is, exact, distance) ? distance : finite_distance(is, exact);
}

double distance_in_ulp(double is, long double exact) {
  double distance = 0;
  if (settled(is, exact, distance)) return distance;
  const int exponent = std::max(exact == 0 ? -10000 : std::ilogb(exact), std::numeric_limits<double>::min_exponent - 1);
  return static_cast<double>(std::fabs(static_cast<long double>(is) - exact) /
                             std::ldexp(1.0L, exponent - std::numeric_limits<double>::digits + 1));
}

UlpSweep::UlpSweep(const MathFunction& function) : function_(function) {
  for (const runtime::host::Level level : levels()) {
    if (simd_loop(level, function.op, DType::f32) != nullptr) worst_.push_back({level});
  }
}

void UlpSweep::take(float x) {
  arguments_.push_back(x);
  if (arguments_.size() == kPiece) flush();
}
void UlpSweep::take_bits(std::uint32_t bits) {
  take(std::bit_cast<float>(bits));
}

const std::vector<UlpSweep::Worst>& UlpSweep::finish() {
  flush();
  return worst_;
}

void UlpSweep::flush() {
  exact_.resize(arguments_.size());
  results_.resize(arguments_.size());
  for (std::size_t i = 0; i < arguments_.size(); ++i) exact_[i] = function_.exact(static_cast<double>(arguments_[i]));
  const auto* data = reinterpret_cast<const std::byte*>(arguments_.data());
  const std::byte* operands[3] = {data, data, data};
  const std::int64_t steps[3] = {1, 1, 1};
  for (Worst& worst : worst_) {
    const RowLoop loop = simd_loop(worst.level, function_.op, DType::f32);
    loop(operands, steps, reinterpret_cast<std::byte*>(results_.data()), static_cast<std::int64_t>(results_.size()));
    if (!may_be_worse(results_.data(), exact_.data(), results_.size(), worst.ulp)) continue;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (const double far = distance_in_ulp(results_[i], exact_[i]); far > worst.ulp) {
        worst.ulp = far;
        worst.at = arguments_[i];
      }
    }
  }
  arguments_.clear();
}

}  // namespace cleave::bench
