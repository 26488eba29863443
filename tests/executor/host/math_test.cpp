// The vectorised functions of math, for every instruction set that this machine has: how far from the exact results they are, in units in
// the last place of the result (ulp), against the C library in a wider type; and special values, which are the meaning's.
// docs/guide/running.md has the bounds. CLEAVE_SWEEP_ALL=1 in the environment sweeps all 2^32 numbers of f32 instead of a dense choice.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <limits>
#include <random>
#include <vector>

#include "executor/host/simd/loops.h"
#include "graph/ops/scalars.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using runtime::host::Level;
using runtime::host::levels;
using runtime::host::math_loop;
using runtime::host::RowLoop;

#ifdef NDEBUG
constexpr std::uint64_t kStride = 211;
#else
constexpr std::uint64_t kStride = 6101;
#endif
constexpr std::size_t kPiece = 4096;

/// An op: the exact function in a wider type, the meaning in its own, and the bounds.
struct Function {
  const char* name;
  double (*exact)(double);
  long double (*exact_long)(long double);  ///< null: there is no loop for f64
  float (*single)(float);
  double (*both)(double);
  double single_bound, both_bound;
};

template <class Op>
constexpr Function function(double (*exact)(double), double bound, long double (*exact_long)(long double) = nullptr,
                            double both_bound = 0) {
  return {Op::name,
          exact,
          exact_long,
          [](float x) -> float { return Op::template apply<float>(x); },
          [](double x) -> double { return Op::template apply<double>(x); },
          bound,
          both_bound};
}
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): the functions of <cmath> are overloaded.
#define OF(f) [](double x) -> double { return f(x); }
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define OF_LONG(f) [](long double x) -> long double { return f(x); }

const double kRootHalf = std::sqrt(0.5);
const Function kFunctions[] = {
    function<scalars::Exp>(OF(std::exp), 1.1, OF_LONG(std::exp), 1.1),
    function<scalars::Expm1>(OF(std::expm1), 2, OF_LONG(std::expm1), 2),
    function<scalars::Log>(OF(std::log), 1, OF_LONG(std::log), 1),
    function<scalars::Log2>(OF(std::log2), 1.1, OF_LONG(std::log2), 1.2),
    function<scalars::Log1p>(OF(std::log1p), 1.1, OF_LONG(std::log1p), 1.2),
    function<scalars::Tanh>(OF(std::tanh), 2.5, OF_LONG(std::tanh), 2.5),
    function<scalars::Sigmoid>([](double x) { return 1 / (1 + std::exp(-x)); }, 2.5, [](long double x) { return 1 / (1 + std::exp(-x)); },
                               2.5),
    function<scalars::Erf>(OF(std::erf), 1.1),
    function<scalars::Gelu>([](double x) { return x * 0.5 * std::erfc(-x * kRootHalf); }, 4.5),
    function<scalars::Sin>(OF(std::sin), 1.6),
    function<scalars::Cos>(OF(std::cos), 1.6),
};

/// How far `is` lies from `exact`, in units in the last place of T at `exact`.
template <class T, class Wide>
double distance_in_ulp(T is, Wide exact) {
  if (std::isnan(exact)) return std::isnan(is) ? 0 : 1e9;
  if (static_cast<Wide>(is) == exact) return 0;
  // Beyond the largest number, infinity is as right as the numbers that round to it.
  if (std::isinf(is)) return std::isinf(static_cast<T>(exact)) && std::signbit(is) == std::signbit(exact) ? 0 : 1e9;
  if (std::isnan(is) || std::isinf(exact)) return 1e9;
  const int exponent = std::max(exact == 0 ? -10000 : std::ilogb(exact), std::numeric_limits<T>::min_exponent - 1);
  return static_cast<double>(std::fabs(static_cast<Wide>(is) - exact) / std::ldexp(Wide(1), exponent - std::numeric_limits<T>::digits + 1));
}

class Math : public ::testing::TestWithParam<Function> {};

/// Arguments are handed over in pieces, so that they are the vectors' work.
class Sweep {
 public:
  Sweep(const Function& function) : function_(function), worst_(levels().size()), at_(levels().size()) {}
  void take(float x) {
    arguments_.push_back(x);
    if (arguments_.size() == kPiece) flush();
  }
  void finish() {
    flush();
    for (std::size_t k = 0; k < levels().size(); ++k) {
      std::cout << function_.name << " f32 by " << to_string(levels()[k]) << ": " << worst_[k] << " ulp at " << std::hexfloat << at_[k]
                << std::defaultfloat << " (bound " << function_.single_bound << ")\n";
      EXPECT_LE(worst_[k], function_.single_bound) << function_.name << " at " << at_[k];
    }
  }

 private:
  void flush() {
    std::vector<double> exact(arguments_.size());
    for (std::size_t i = 0; i < arguments_.size(); ++i) exact[i] = function_.exact(static_cast<double>(arguments_[i]));
    std::vector<float> results(arguments_.size());
    for (std::size_t k = 0; k < levels().size(); ++k) {
      const std::byte* operands[3] = {};
      operands[0] = operands[1] = operands[2] = reinterpret_cast<const std::byte*>(arguments_.data());
      const std::int64_t steps[3] = {1, 1, 1};
      const RowLoop loop = math_loop(levels()[k], function_.name, DType::f32);
      ASSERT_NE(loop, nullptr);
      loop(operands, steps, reinterpret_cast<std::byte*>(results.data()), static_cast<std::int64_t>(results.size()));
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (const double far = distance_in_ulp(results[i], exact[i]); far > worst_[k]) {
          worst_[k] = far;
          at_[k] = arguments_[i];
        }
      }
    }
    arguments_.clear();
  }
  const Function& function_;
  std::vector<float> arguments_;
  std::vector<double> worst_;
  std::vector<float> at_;
};

TEST_P(Math, SinglesStayWithinTheirBound) {
  if (levels().empty()) GTEST_SKIP() << "no vectorised loops";
  Sweep sweep(GetParam());
  const char* all = std::getenv("CLEAVE_SWEEP_ALL");
  const std::uint64_t stride = all != nullptr && *all == '1' ? 1 : kStride;
  for (std::uint64_t bits = 0; bits < std::uint64_t(1) << 32; bits += stride)
    sweep.take(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (const float point : {0.0F,
                            std::numeric_limits<float>::min(),
                            0.25F,
                            0.34657359F,
                            0.5F,
                            0.70710678F,
                            0.9375F,
                            1.0F,
                            1.41421356F,
                            2.0F,
                            3.9F,
                            9.01F,
                            14.5F,
                            17.3F,
                            78.539816F,
                            87.336544F,
                            88.722839F,
                            103.97208F,
                            1048576.0F,
                            4.2e6F,
                            std::numeric_limits<float>::infinity()}) {
    for (std::int64_t near = -4096; near <= 4096; ++near) {
      const auto bits = static_cast<std::uint32_t>(std::bit_cast<std::uint32_t>(point) + near);
      sweep.take(std::bit_cast<float>(bits));
      sweep.take(std::bit_cast<float>(bits ^ 0x80000000U));
    }
  }
  sweep.finish();
}

TEST_P(Math, DoublesStayWithinTheirBound) {
  const Function& function = GetParam();
  if (function.exact_long == nullptr || levels().empty()) GTEST_SKIP() << "no vectorised loop for f64";
  std::mt19937_64 random(7);
  std::vector<double> arguments;
  for (int i = 0; i < 200000; ++i) {
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
    const RowLoop loop = math_loop(level, function.name, DType::f64);
    ASSERT_NE(loop, nullptr);
    loop(operands, steps, reinterpret_cast<std::byte*>(results.data()), static_cast<std::int64_t>(results.size()));
    double worst = 0, at = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (const double far = distance_in_ulp(results[i], function.exact_long(static_cast<long double>(arguments[i]))); far > worst) {
        worst = far;
        at = arguments[i];
      }
    }
    std::cout << function.name << " f64 by " << to_string(level) << ": " << worst << " ulp at " << std::hexfloat << at << std::defaultfloat
              << " (bound " << function.both_bound << ")\n";
    EXPECT_LE(worst, function.both_bound) << function.name << " at " << at;
  }
}

TEST_P(Math, SpecialValuesAreThoseOfTheMeaning) {
  const Function& function = GetParam();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> arguments = {0.0F,  -0.0F,  infinity, -infinity, std::nanf(""), 1.0F,
                                        -1.0F, 200.0F, -200.0F,  1e30F,     -1e30F,        1e-44F};
  for (const Level level : levels()) {
    for (const float x : arguments) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        const RowLoop loop = math_loop(level, function.name, dtype);
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
        EXPECT_TRUE(kind(result) == kind(expected) || tiny) << function.name << "(" << x << ") of " << to_string(dtype) << " by "
                                                            << to_string(level) << " is " << result << " instead of " << expected;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Host, Math, ::testing::ValuesIn(kFunctions), [](const auto& test) { return std::string(test.param.name); });

TEST(MathOfTwo, PowStaysWithinItsBound) {
  const std::vector<float> specials = {0.0F,
                                       -0.0F,
                                       1.0F,
                                       -1.0F,
                                       2.0F,
                                       -2.0F,
                                       0.5F,
                                       -0.5F,
                                       3.0F,
                                       -3.0F,
                                       1e-45F,
                                       -1e-45F,
                                       3e38F,
                                       -3e38F,
                                       1e30F,
                                       16777215.0F,
                                       16777216.0F,
                                       2.5F,
                                       -2.5F,
                                       150.0F,
                                       -150.0F,
                                       std::numeric_limits<float>::infinity(),
                                       -std::numeric_limits<float>::infinity(),
                                       std::nanf("")};
  std::vector<float> a, b;
  for (const float x : specials) {
    for (const float y : specials) {
      // Each pair in a vector of its own, among harmless ones, so that it meets the vectors' work where it can.
      a.insert(a.end(), {x, 1.5F, 1.5F, 1.5F, 1.5F, 1.5F, 1.5F, 1.5F, 1.5F, 1.5F, 1.5F, 1.5F, 1.5F, 1.5F, 1.5F, 1.5F});
      b.insert(b.end(), {y, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F});
    }
  }
  std::mt19937_64 random(5);
  for (int i = 0; i < 2000000; ++i) {
    const float x = std::exp2(std::uniform_real_distribution<float>(-20, 20)(random));
    a.push_back(i % 3 == 0 ? std::uniform_real_distribution<float>(0.9F, 1.1F)(random) : i % 3 == 1 ? x : -x);
    b.push_back(i % 3 == 0   ? std::uniform_real_distribution<float>(-900, 900)(random)
                : i % 3 == 1 ? std::uniform_real_distribution<float>(-8, 8)(random)
                             : static_cast<float>(static_cast<int>(random() % 21) - 10));
  }
  std::vector<float> results(a.size());
  for (const Level level : levels()) {
    const std::byte* operands[3] = {reinterpret_cast<const std::byte*>(a.data()), reinterpret_cast<const std::byte*>(b.data()), nullptr};
    const std::int64_t steps[3] = {1, 1, 1};
    math_loop(level, "pow", DType::f32)(operands, steps, reinterpret_cast<std::byte*>(results.data()), static_cast<std::int64_t>(a.size()));
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double exact = std::pow(static_cast<double>(a[i]), static_cast<double>(b[i]));
      const double far = distance_in_ulp(results[i], exact);
      EXPECT_LE(far, 0.6) << a[i] << " to the power of " << b[i] << " by " << to_string(level) << " is " << results[i] << " instead of "
                          << exact;
      EXPECT_TRUE(results[i] != 0 || exact != 0 || std::signbit(results[i]) == std::signbit(exact)) << a[i] << " to the power of " << b[i];
      worst = std::max(worst, far);
      if (HasFailure()) break;
    }
    std::cout << "pow f32 by " << to_string(level) << ": " << worst << " ulp (bound 0.6)\n";
  }
}

}  // namespace
}  // namespace cleave::testing
