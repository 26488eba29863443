// The vectorized math functions, for every instruction set that this machine has: their error in units in the last place of the result
// (ulp) against the C library in a wider type, and special values, which equal the reference implementation's. The functions and their
// bounds are in tools/bench/ulp.cpp, which sweeps all 2^32 numbers of f32 while this test samples them; docs/guide/running.md documents the
// bounds.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <limits>
#include <random>
#include <vector>

#include "executor/host/simd/loops.h"
#include "tests/support/namespaces.h"
#include "tools/bench/ulp.h"

namespace cleave::testing {
namespace {

using bench::distance_in_ulp;
using bench::MathFunction;
using runtime::host::Level;
using runtime::host::levels;
using runtime::host::math_loop;
using runtime::host::RowLoop;
using runtime::host::simd_loop;

#ifdef NDEBUG
constexpr std::uint64_t kStride = 509;
#else
constexpr std::uint64_t kStride = 6101;
#endif

class Math : public ::testing::TestWithParam<MathFunction> {};

/// Adds numbers around the points where a function changes its method, on both sides of zero.
void take_around(bench::UlpSweep& sweep, float point, std::int64_t reach) {
  for (std::int64_t near = -reach; near <= reach; ++near) {
    const auto bits = static_cast<std::uint32_t>(std::bit_cast<std::uint32_t>(point) + near);
    sweep.take_bits(bits);
    sweep.take_bits(bits ^ 0x80000000U);
  }
}

TEST_P(Math, SinglesStayWithinTheirBound) {
  if (levels().empty()) GTEST_SKIP() << "no vectorised loops";
  const MathFunction& function = GetParam();
  bench::UlpSweep sweep(function);
  for (std::uint64_t bits = 0; bits < std::uint64_t(1) << 32; bits += kStride) sweep.take_bits(static_cast<std::uint32_t>(bits));
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent) take_around(sweep, std::bit_cast<float>(exponent << 23), 16);
  for (const float point :
       {0.25F, 0.34657359F, 0.41421356F, 0.5F,       0.70710678F, 0.9375F,    1.0F,  1.41421356F, 2.0F,       2.41421356F, 3.9F,
        9.01F, 14.5F,       17.3F,       78.539816F, 87.336544F,  88.722839F, 89.0F, 103.97208F,  1048576.0F, 4.2e6F})
    take_around(sweep, point, 4096);
  for (const std::uint32_t bits : function.worst) take_around(sweep, std::bit_cast<float>(bits), 0);
  const auto& worst = sweep.finish();
  ASSERT_EQ(worst.size(), levels().size()) << "an instruction set without a loop";
  for (const bench::UlpSweep::Worst& by : worst) {
    std::cout << function.op << " f32 by " << to_string(by.level) << ": " << by.ulp << " ulp at " << std::hexfloat << by.at
              << std::defaultfloat << " (bound " << function.single_bound << ")\n";
    EXPECT_LE(by.ulp, function.single_bound) << function.op << " at " << by.at;
  }
}

TEST(Ulp, DistancesAreCountedInUnitsOfTheExactResult) {
  EXPECT_EQ(distance_in_ulp(1.0F, 1.0), 0);
  EXPECT_EQ(distance_in_ulp(1.0F, 1 + 0x1p-24), 0.5);
  EXPECT_EQ(distance_in_ulp(1.0F, 1 - 0x1p-24), 1);  // below one they are half as large
  EXPECT_EQ(distance_in_ulp(0.0F, 0x1p-150), 0.5);
  EXPECT_EQ(distance_in_ulp(-0x1p-149F, 0x1p-149), 2);
  EXPECT_EQ(distance_in_ulp(std::numeric_limits<float>::infinity(), 0x1p128), 0);
  EXPECT_GT(distance_in_ulp(std::numeric_limits<float>::infinity(), 1.0), 1e6);
  EXPECT_GT(distance_in_ulp(std::nanf(""), 1.0), 1e6);
  EXPECT_GT(distance_in_ulp(1.0F, std::nan("")), 1e6);
  EXPECT_EQ(distance_in_ulp(1.0, 1 + 0x1p-53L), 0.5);
  EXPECT_EQ(distance_in_ulp(0.0, 0x1p-1074L), 1);
}

TEST_P(Math, DoublesStayWithinTheirBound) {
  const MathFunction& function = GetParam();
  if (function.both_bound == 0 || levels().empty()) GTEST_SKIP() << "no vectorised loop for f64";
  std::mt19937_64 random(7);
  std::vector<double> arguments;
  for (int i = 0; i < 100000; ++i) {
    arguments.push_back(std::bit_cast<double>(random()));
    arguments.push_back(std::uniform_real_distribution<double>(-1, 1)(random));
    arguments.push_back(std::uniform_real_distribution<double>(-40, 40)(random));
    arguments.push_back(std::uniform_real_distribution<double>(-750, 720)(random));
    arguments.push_back(std::exp2(std::uniform_real_distribution<double>(-2, 2)(random)));
  }
  for (const double x :
       {0.0, -0.0, 1.0, -1.0, 709.78, 710.0, -745.1, -745.2, -708.4, 36.0, -37.5, 0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp-1,
        std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), std::nan("")})
    arguments.push_back(x);
  std::vector<double> results(arguments.size());
  for (const Level level : levels()) {
    const auto* data = reinterpret_cast<const std::byte*>(arguments.data());
    const std::byte* operands[3] = {data, data, data};
    const std::int64_t steps[3] = {1, 1, 1};
    const RowLoop loop = simd_loop(level, function.op, DType::f64);
    ASSERT_NE(loop, nullptr);
    loop(operands, steps, reinterpret_cast<std::byte*>(results.data()), static_cast<std::int64_t>(results.size()));
    double worst = 0, at = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (const double far = distance_in_ulp(results[i], function.exact_long(static_cast<long double>(arguments[i]))); far > worst) {
        worst = far;
        at = arguments[i];
      }
    }
    std::cout << function.op << " f64 by " << to_string(level) << ": " << worst << " ulp at " << std::hexfloat << at << std::defaultfloat
              << " (bound " << function.both_bound << ")\n";
    EXPECT_LE(worst, function.both_bound) << function.op << " at " << at;
  }
}

TEST_P(Math, SpecialValuesAreThoseOfTheReference) {
  const MathFunction& function = GetParam();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> arguments = {0.0F,  -0.0F,  infinity, -infinity, std::nanf(""), 1.0F,
                                        -1.0F, 200.0F, -200.0F,  1e30F,     -1e30F,        1e-44F};
  for (const Level level : levels()) {
    for (const float x : arguments) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        const RowLoop loop = simd_loop(level, function.op, dtype);
        if (loop == nullptr) continue;
        const double wide = static_cast<double>(x);
        double result = 0, expected = function.both(wide);
        const auto* data = dtype == DType::f32 ? reinterpret_cast<const std::byte*>(&x) : reinterpret_cast<const std::byte*>(&wide);
        const std::byte* operands[3] = {data, data, data};
        const std::int64_t steps[3] = {1, 1, 1};
        if (dtype == DType::f32) {
          float single = 0;
          loop(operands, steps, reinterpret_cast<std::byte*>(&single), 1);
          result = static_cast<double>(single);
          expected = static_cast<double>(function.single(x));
        } else {
          loop(operands, steps, reinterpret_cast<std::byte*>(&result), 1);
        }
        const auto kind = [](double v) {
          return std::isnan(v) ? 4 : std::isinf(v) ? (v > 0 ? 3 : -3) : v == 0 ? (std::signbit(v) ? -1 : 1) : 2;
        };
        const bool tiny = std::fabs(expected) < 1e-6 && std::fabs(result) < 1e-6 && x != 0;  // gelu(-200) may be a small number
        EXPECT_TRUE(kind(result) == kind(expected) || tiny) << function.op << "(" << x << ") of " << to_string(dtype) << " by "
                                                            << to_string(level) << " is " << result << " instead of " << expected;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Host, Math, ::testing::ValuesIn(bench::math_functions()),
                         [](const auto& test) { return std::string(test.param.op); });

/// Pairs of special numbers, each in its own vector among ordinary ones, so that the vectorized path computes it where it can; then random
/// pairs.
template <class T>
struct Pairs {
  std::vector<T> a, b;
  void add_specials() {
    using Limits = std::numeric_limits<T>;
    const T specials[] = {T(0),
                          T(-0.0),
                          T(1),
                          T(-1),
                          T(2),
                          T(-2),
                          T(0.5),
                          T(-0.5),
                          T(3),
                          T(-3),
                          T(2.5),
                          T(-2.5),
                          T(150),
                          T(-150),
                          T(1e30),
                          Limits::denorm_min(),
                          T(16777215.0),
                          -Limits::denorm_min(),
                          T(16777216.0),
                          Limits::max(),
                          T(0x1p53),
                          -Limits::max(),
                          T(0x1p53 - 1),
                          Limits::infinity(),
                          Limits::min(),
                          -Limits::infinity(),
                          Limits::quiet_NaN()};
    for (const T x : specials) {
      for (const T y : specials) {
        a.push_back(x);
        b.push_back(y);
        a.insert(a.end(), 15, T(1.5));
        b.insert(b.end(), 15, T(2.5));
      }
    }
  }
};

template <class T, class Wide>
void expect_within(const char* op, const Pairs<T>& of, Wide (*exact)(Wide, Wide), double bound) {
  std::vector<T> results(of.a.size());
  for (const Level level : levels()) {
    const std::byte* operands[3] = {reinterpret_cast<const std::byte*>(of.a.data()), reinterpret_cast<const std::byte*>(of.b.data()),
                                    nullptr};
    const std::int64_t steps[3] = {1, 1, 1};
    const RowLoop loop = math_loop(level, op, std::is_same_v<T, float> ? DType::f32 : DType::f64);
    ASSERT_NE(loop, nullptr);
    loop(operands, steps, reinterpret_cast<std::byte*>(results.data()), static_cast<std::int64_t>(results.size()));
    double worst = 0;
    for (std::size_t i = 0; i < results.size() && !::testing::Test::HasFailure(); ++i) {
      const Wide wide = exact(static_cast<Wide>(of.a[i]), static_cast<Wide>(of.b[i]));
      const double far = distance_in_ulp(results[i], wide);
      EXPECT_LE(far, bound) << op << "(" << of.a[i] << ", " << of.b[i] << ") by " << to_string(level) << " is " << results[i]
                            << " instead of " << wide;
      EXPECT_TRUE(results[i] != 0 || wide != 0 || std::signbit(results[i]) == std::signbit(wide))
          << op << "(" << of.a[i] << ", " << of.b[i] << ")";
      worst = std::max(worst, far);
    }
    std::cout << op << (sizeof(T) == 4 ? " f32 by " : " f64 by ") << to_string(level) << ": " << worst << " ulp (bound " << bound << ")\n";
  }
}

template <class T>
Pairs<T> powers(int count, T most) {
  Pairs<T> pairs;
  pairs.add_specials();
  std::mt19937_64 random(5);
  const auto between = [&](T low, T high) { return std::uniform_real_distribution<T>(low, high)(random); };
  for (int i = 0; i < count; ++i) {
    const T x = std::exp2(between(-20, 20));
    pairs.a.push_back(i % 3 == 0 ? between(T(0.9), T(1.1)) : i % 3 == 1 ? x : -x);
    pairs.b.push_back(i % 3 == 0   ? between(-most, most)
                      : i % 3 == 1 ? between(-8, 8)
                                   : static_cast<T>(static_cast<int>(random() % 21) - 10));
  }
  return pairs;
}

TEST(MathOfTwo, PowStaysWithinItsBound) {
  expect_within<float, double>(
      "pow", powers<float>(2000000, 900), [](double a, double b) { return std::pow(a, b); }, 0.6);
  expect_within<double, long double>(
      "pow", powers<double>(300000, 7000), [](long double a, long double b) { return std::pow(a, b); }, 1.2);
}

template <class T>
Pairs<T> angles(int count) {
  Pairs<T> pairs;
  pairs.add_specials();
  std::mt19937_64 random(9);
  const auto between = [&](T low, T high) { return std::uniform_real_distribution<T>(low, high)(random); };
  for (int i = 0; i < count; ++i) {
    const T wide = i % 2 == 0 ? 2 : std::numeric_limits<T>::max_exponent / 2;
    pairs.a.push_back(std::copysign(std::exp2(between(-wide, wide)), between(-1, 1)));
    pairs.b.push_back(std::copysign(std::exp2(between(-wide, wide)), between(-1, 1)));
  }
  return pairs;
}

TEST(MathOfTwo, Atan2StaysWithinItsBound) {
  expect_within<float, double>(
      "atan2", angles<float>(2000000), [](double a, double b) { return std::atan2(a, b); }, 2.5);
  expect_within<double, long double>(
      "atan2", angles<double>(300000), [](long double a, long double b) { return std::atan2(a, b); }, 2.5);
}

TEST(MathOfTwo, HypotStaysWithinItsBound) {
  expect_within<float, double>(
      "hypot", angles<float>(2000000), [](double a, double b) { return std::hypot(a, b); }, 1.3);
  expect_within<double, long double>(
      "hypot", angles<double>(300000), [](long double a, long double b) { return std::hypot(a, b); }, 1.3);
}

/// Pairs whose result is not close to zero, since a result near zero has lost digits that the operands never had.
template <class T>
Pairs<T> logarithms(int count) {
  Pairs<T> pairs;
  std::mt19937_64 random(11);
  const auto between = [&](T low, T high) { return std::uniform_real_distribution<T>(low, high)(random); };
  for (int i = 0; i < count; ++i) {
    const T a = i % 2 == 0 ? between(0, 90) : between(-90, T(-1.5));
    pairs.a.push_back(a);
    pairs.b.push_back(i % 3 == 0 ? std::min(a, T(-1.5)) - std::exp2(between(-10, 6)) : a - std::exp2(between(-10, 6)));
  }
  constexpr T infinity = std::numeric_limits<T>::infinity();
  for (const T x : {infinity, -infinity, T(1e30), T(-1e30), std::numeric_limits<T>::quiet_NaN(), T(3)}) {
    for (const T y : {infinity, -infinity, T(1e30), T(-1e30), std::numeric_limits<T>::quiet_NaN(), T(3)}) {
      pairs.a.push_back(x);
      pairs.b.push_back(y);
    }
  }
  return pairs;
}

template <class T>
T exact_log_add_exp(T a, T b) {
  return a == b ? a + std::log(T(2)) : std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b))) + (a != a ? a : 0);
}

TEST(MathOfTwo, LogAddExpStaysWithinItsBound) {
  expect_within<float, double>("logaddexp", logarithms<float>(1000000), exact_log_add_exp<double>, 3);
  expect_within<double, long double>("logaddexp", logarithms<double>(300000), exact_log_add_exp<long double>, 3);
}

}  // namespace
}  // namespace cleave::testing
