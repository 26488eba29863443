// Results of the element-wise ops; the expected numbers are NumPy's unless a comment says otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/ops/scalars.h"
#include "tests/support/division_table.h"
#include "tests/support/op_call.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using Values = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();

/// NaN equals NaN.
void expect_near(const Array& array, const Values& expected, double tolerance, const std::string& what) {
  const Values actual = elements(array);
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << what << " [" << i << "] is " << actual[i];
    } else if (std::isinf(expected[i])) {
      EXPECT_EQ(actual[i], expected[i]) << what << " [" << i << "]";
    } else {
      EXPECT_NEAR(actual[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << what << " [" << i << "]";
    }
  }
}

TEST(ElementwiseOps, IntegersWrapAndDivideLikePython) {
  const Array a = Array::of<std::int32_t>({8}, {7, -7, 7, -7, 0, 5, kLowest, kLowest});
  const Array b = Array::of<std::int32_t>({8}, {2, 2, -2, -2, 3, 0, -1, 2});
  const auto of = [&](const char* op) { return elements(call_op(op, {a, b})); };
  EXPECT_THAT(of("add"), ElementsAre(9, -5, 5, -9, 3, 5, 2147483647, -2147483646));
  EXPECT_THAT(of("subtract"), ElementsAre(5, -9, 9, -5, -3, 5, -2147483647, 2147483646));
  EXPECT_THAT(of("multiply"), ElementsAre(14, -14, -14, 14, 0, 0, kLowest, 0));
  EXPECT_THAT(of("floor_divide"), ElementsAre(3, -4, -4, 3, 0, 0, kLowest, -1073741824));
  EXPECT_THAT(of("remainder"), ElementsAre(1, 1, -1, -1, 0, 0, 0, 0));
  EXPECT_THAT(of("minimum"), ElementsAre(2, -7, -2, -7, 0, 0, kLowest, kLowest));
  EXPECT_THAT(of("maximum"), ElementsAre(7, 2, 7, -2, 3, 5, -1, 2));
  EXPECT_THAT(elements(call_op("negative", {Array::of<std::int32_t>({2}, {3, kLowest})})), ElementsAre(-3, kLowest));
  EXPECT_THAT(elements(call_op("abs", {Array::of<std::int32_t>({3}, {3, -4, kLowest})})), ElementsAre(3, 4, kLowest));
  EXPECT_THAT(elements(call_op("square", {Array::of<std::int64_t>({2}, {-3, std::int64_t{1} << 32})})), ElementsAre(9, 0));
}

TEST(ElementwiseOps, SmallAndLargeIntegers) {
  const auto u8 = [](std::initializer_list<std::uint8_t> values) {
    return Array::of<std::uint8_t>({static_cast<std::int64_t>(values.size())}, values);
  };
  EXPECT_THAT(elements(call_op("add", {u8({200}), u8({100})})), ElementsAre(44));
  EXPECT_THAT(elements(call_op("multiply", {u8({7, 0, 255}), u8({40, 1, 255})})), ElementsAre(24, 0, 1));
  EXPECT_THAT(elements(call_op("subtract", {u8({3}), u8({5})})), ElementsAre(254));
  EXPECT_THAT(elements(call_op("floor_divide", {u8({7, 255, 255, 9}), u8({2, 255, 128, 0})})), ElementsAre(3, 1, 1, 0));
  EXPECT_THAT(elements(call_op("remainder", {u8({7, 254, 255, 9}), u8({2, 255, 128, 0})})), ElementsAre(1, 254, 127, 0));
  EXPECT_THAT(elements(call_op("sign", {u8({0, 200})})), ElementsAre(0, 1));
  constexpr std::int64_t kLow64 = std::numeric_limits<std::int64_t>::min();
  const Array wide = Array::of<std::int64_t>({2}, {kLow64, kLow64}), by = Array::of<std::int64_t>({2}, {-1, 0});
  EXPECT_EQ(call_op("floor_divide", {wide, by}), Array::of<std::int64_t>({2}, {kLow64, 0}));
  EXPECT_EQ(call_op("remainder", {wide, by}), Array::of<std::int64_t>({2}, {0, 0}));
}

TEST(ElementwiseOps, IntegerPowers) {
  const Array base = Array::of<std::int32_t>({6}, {2, -3, 7, 0, -1, 3}), exponent = Array::of<std::int32_t>({6}, {10, 3, 0, 0, 5, 40});
  EXPECT_THAT(elements(call_op("pow", {base, exponent})), ElementsAre(1024, -27, 1, 1, -1, 689956897));
  // Negative exponents round towards zero (NumPy refuses them).
  const Array ones = Array::of<std::int32_t>({5}, {1, -1, -1, 2, 0}), negative = Array::of<std::int32_t>({5}, {-3, -3, -2, -1, -1});
  EXPECT_THAT(elements(call_op("pow", {ones, negative})), ElementsAre(1, -1, 1, 0, 0));
}

TEST(ElementwiseOps, FloatsDivideLikePython) {
  const Array a = Array::of<float>({8}, {7.5F, -7.5F, 7.5F, -7.5F, 1, -1, 0, INFINITY});
  const Array b = Array::of<float>({8}, {2, 2, -2, -2, 0, 0, 0, 3});
  expect_near(call_op("divide", {a, b}), {3.75, -3.75, -3.75, 3.75, kInf, -kInf, NAN, kInf}, 0, "divide");
  expect_near(call_op("floor_divide", {a, b}), {3, -4, -4, 3, kInf, -kInf, NAN, NAN}, 0, "floor_divide");
  expect_near(call_op("remainder", {a, b}), {1.5, 0.5, -0.5, -1.5, NAN, NAN, NAN, NAN}, 0, "remainder");
}

TEST(ElementwiseOps, FloatsDivideAsInNumPyToTheSignOfZeros) {
  EXPECT_EQ(first_wrong(call_op("floor_divide", operands_of(kDivisionF32)), kDivisionF32.quotients), "");
  EXPECT_EQ(first_wrong(call_op("remainder", operands_of(kDivisionF32)), kDivisionF32.remainders), "");
  EXPECT_EQ(first_wrong(call_op("floor_divide", operands_of(kDivisionF64)), kDivisionF64.quotients), "");
  EXPECT_EQ(first_wrong(call_op("remainder", operands_of(kDivisionF64)), kDivisionF64.remainders), "");
  for (const double zero : {0.0, -0.0}) EXPECT_FALSE(std::signbit(call_op("sign", {Array::scalar<double>(zero)}).at(0)));
}

TEST(ElementwiseOps, NanGoesThrough) {
  const Array nan = Array::of<float>({4}, {NAN, 1, NAN, -0.0F}), other = Array::of<float>({4}, {1, NAN, NAN, 2});
  expect_near(call_op("minimum", {nan, other}), {NAN, NAN, NAN, 0}, 0, "minimum");
  expect_near(call_op("maximum", {nan, other}), {NAN, NAN, NAN, 2}, 0, "maximum");
  expect_near(call_op("sign", {nan}), {NAN, 1, NAN, 0}, 0, "sign");
  expect_near(call_op("relu", {nan}), {NAN, 1, NAN, 0}, 0, "relu");
  EXPECT_THAT(elements(call_op("equal", {nan, other})), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(elements(call_op("not_equal", {nan, nan})), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(elements(call_op("less_equal", {nan, other})), ElementsAre(0, 0, 0, 1));
  const Array kinds = Array::of<double>({4}, {NAN, kInf, -kInf, 1e308});
  EXPECT_THAT(elements(call_op("isnan", {kinds})), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(elements(call_op("isfinite", {kinds})), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(elements(call_op("isinf", {kinds})), ElementsAre(0, 1, 1, 0));
  const Array whole = Array::of<std::int32_t>({2}, {kLowest, 0});
  EXPECT_THAT(elements(call_op("isfinite", {whole})), ElementsAre(1, 1));
  EXPECT_THAT(elements(call_op("isnan", {whole})), ElementsAre(0, 0));
  EXPECT_TRUE(std::signbit(elements(call_op("negative", {Array::of<float>({1}, {0})}))[0]));
  EXPECT_FALSE(std::signbit(elements(call_op("abs", {Array::of<float>({1}, {-0.0F})}))[0]));
}

struct MathCase {
  const char* op;
  std::vector<double> x, expected;
};

TEST(ElementwiseOps, MathFunctions) {
  const Values x = {-1.5, -0.25, 0, 0.5, 2}, y = {0.25, 0.5, 1, 2, 10}, z = {-1, -0.5, 0, 0.25, 1};
  const MathCase cases[] = {
      {"exp", x, {0.2231301601, 0.7788007831, 1.0, 1.648721271, 7.389056099}},
      {"expm1", x, {-0.7768698399, -0.2211992169, 0.0, 0.6487212707, 6.389056099}},
      {"sin", x, {-0.9974949866, -0.2474039593, 0.0, 0.4794255386, 0.9092974268}},
      {"cos", x, {0.07073720167, 0.9689124217, 1.0, 0.8775825619, -0.4161468365}},
      {"tan", x, {-14.10141995, -0.2553419212, 0.0, 0.5463024898, -2.185039863}},
      {"atan", x, {-0.9827937232, -0.2449786631, 0.0, 0.463647609, 1.107148718}},
      {"sinh", x, {-2.129279455, -0.2526123168, 0.0, 0.5210953055, 3.626860408}},
      {"cosh", x, {2.352409615, 1.0314131, 1.0, 1.127625965, 3.762195691}},
      {"tanh", x, {-0.9051482536, -0.2449186624, 0.0, 0.4621171573, 0.9640275801}},
      {"erf", x, {-0.9661051465, -0.2763263902, 0.0, 0.5204998778, 0.995322265}},
      {"gelu", x, {-0.1002108019, -0.1003234186, 0.0, 0.3457312306, 1.954499736}},
      {"sigmoid", x, {0.1824255238, 0.4378234991, 0.5, 0.6224593312, 0.880797078}},
      {"relu", x, {0, 0, 0, 0.5, 2}},
      {"floor", x, {-2, -1, 0, 0, 2}},
      {"ceil", x, {-1, 0, 0, 1, 2}},
      {"trunc", x, {-1, 0, 0, 0, 2}},
      {"round", {0.5, 1.5, 2.5, -0.5, -1.5, 2.4}, {0, 2, 2, 0, -2, 2}},
      {"square", x, {2.25, 0.0625, 0, 0.25, 4}},
      {"sign", x, {-1, -1, 0, 1, 1}},
      {"abs", x, {1.5, 0.25, 0, 0.5, 2}},
      {"log", y, {-1.386294361, -0.6931471806, 0.0, 0.6931471806, 2.302585093}},
      {"log1p", y, {0.2231435513, 0.4054651081, 0.6931471806, 1.098612289, 2.397895273}},
      {"log2", y, {-2, -1, 0, 1, 3.321928095}},
      {"log10", y, {-0.6020599913, -0.3010299957, 0, 0.3010299957, 1}},
      {"asinh", x, {-1.194763217, -0.2474664615, 0, 0.4812118251, 1.443635475}},
      {"acosh", {1, 1.5, 2, 10}, {0, 0.9624236501, 1.316957897, 2.993222846}},
      {"atanh", {-0.5, 0, 0.25, 0.9}, {-0.5493061443, 0, 0.2554128119, 1.472219490}},
      {"sqrt", y, {0.5, 0.7071067812, 1, 1.414213562, 3.16227766}},
      {"rsqrt", y, {2, 1.414213562, 1, 0.7071067812, 0.316227766}},
      {"reciprocal", y, {4, 2, 1, 0.5, 0.1}},
      {"asin", z, {-1.570796327, -0.5235987756, 0, 0.2526802551, 1.570796327}},
      {"acos", z, {3.141592654, 2.094395102, 1.570796327, 1.318116072, 0}},
  };
  for (const MathCase& c : cases) {
    const auto n = static_cast<std::int64_t>(c.x.size());
    const std::vector<float> narrow(c.x.begin(), c.x.end());
    expect_near(call_op(c.op, {Array::of<double>({n}, c.x)}), c.expected, 1e-9, c.op);
    expect_near(call_op(c.op, {Array::of<float>({n}, narrow)}), c.expected, 1e-6, c.op);
  }
  expect_near(call_op("atan2", {Array::of<double>({5}, {1, -1, 1, -1, 0}), Array::of<double>({5}, {1, 1, -1, -1, -1})}),
              {0.7853981634, -0.7853981634, 2.35619449, -2.35619449, 3.141592654}, 1e-9, "atan2");
  const Array large = Array::of<double>({3}, {3, 1e200, -5}), small = Array::of<double>({3}, {-4, 1e200, 0});
  expect_near(call_op("hypot", {large, small}), {5, 1.4142135623730951e200, 5}, 1e190, "hypot");
  expect_near(call_op("hypot", {Array::scalar<double>(3), Array::scalar<double>(-4)}), {5}, 1e-12, "hypot");
  expect_near(call_op("logaddexp", {Array::of<double>({3}, {0, 1000, -1000}), Array::of<double>({3}, {0, 999, -1000})}),
              {0.6931471806, 1000.3132616875, -999.3068528194}, 1e-9, "logaddexp");
  EXPECT_EQ(call_op("floor", {Array::of<std::int64_t>({1}, {INT64_MAX})}), Array::of<std::int64_t>({1}, {INT64_MAX})) << "integers stay";
  expect_near(call_op("expm1", {Array::of<float>({1}, {1e-8F})}), {1e-8}, 1e-14, "expm1 near zero");
}

TEST(ElementwiseOps, SignsOfZeroCount) {
  const Array x = Array::of<float>({4}, {-0.0F, 0.0F, -2, 3});
  EXPECT_THAT(elements(call_op("signbit", {x})), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(elements(call_op("signbit", {Array::of<std::int32_t>({2}, {-1, 0})})), ElementsAre(1, 0));
  EXPECT_THAT(elements(call_op("copysign", {Array::of<float>({4}, {1, -1, 2, -3}), x})), ElementsAre(-1, 1, -2, 3));
}

TEST(ElementwiseOps, ShiftsBeyondTheBitsAreDefined) {
  const Array x = Array::of<std::int32_t>({6}, {1, -8, -8, 5, -5, 1});
  const Array by = Array::of<std::int32_t>({6}, {31, 1, 32, -1, 100, 0});
  EXPECT_THAT(elements(call_op("bitwise_left_shift", {x, by})), ElementsAre(-2147483648.0, -16, 0, 0, 0, 1));
  EXPECT_THAT(elements(call_op("bitwise_right_shift", {x, by})), ElementsAre(0, -4, -1, 0, -1, 1));
  const Array bytes = Array::of<std::uint8_t>({2}, {255, 255}), few = Array::of<std::uint8_t>({2}, {4, 8});
  EXPECT_THAT(elements(call_op("bitwise_left_shift", {bytes, few})), ElementsAre(240, 0));
  EXPECT_THAT(elements(call_op("bitwise_right_shift", {bytes, few})), ElementsAre(15, 0));
  EXPECT_EQ(refusal("bitwise_left_shift", {"f32[2]", "f32[2]"}),
            "`bitwise_left_shift` of f32[2] and f32[2]: needs integers; convert with astype");
}

TEST(ElementwiseOps, HalfTypesComputeInFloatAndRound) {
  const Array a = Array::of<Half>({2}, {Half(1), Half(2048)}), b = Array::of<Half>({2}, {Half(0.0009765625F), Half(1)});
  EXPECT_THAT(elements(call_op("add", {a, b})), ElementsAre(1.0009765625, 2048));  // 2049 is no f16: ties to even
  const Array c = Array::of<BFloat16>({1}, {BFloat16(3)});
  EXPECT_THAT(elements(call_op("divide", {Array::of<BFloat16>({1}, {BFloat16(1)}), c})), ElementsAre(0.333984375));
}

TEST(ElementwiseOps, Broadcasting) {
  const Array column = Array::of<std::int32_t>({3, 1}, {10, 20, 30}), row = Array::of<std::int32_t>({2}, {1, 2});
  const Array sum = call_op("add", {column, row});
  EXPECT_EQ(sum.shape(), (Shape{3, 2}));
  EXPECT_THAT(elements(sum), ElementsAre(11, 12, 21, 22, 31, 32));
  EXPECT_THAT(elements(call_op("subtract", {Array::scalar<std::int32_t>(1), column})), ElementsAre(-9, -19, -29));
  EXPECT_EQ(call_op("add", {Array(TensorType{DType::f32, {0, 1}}), Array(TensorType{DType::f32, {4}})}).shape(), (Shape{0, 4}));
  EXPECT_EQ(refusal("add", {"f32[2, 3]", "f32[4]"}), "`add` of f32[2, 3] and f32[4]: the shapes [2, 3] and [4] do not broadcast");
}

TEST(ElementwiseOps, Refusals) {
  EXPECT_EQ(refusal("add", {"bool[]", "bool[]"}), "`add` of bool[] and bool[]: needs numbers, not bool; convert with astype");
  EXPECT_EQ(refusal("add", {"f32[]", "i32[]"}), "`add` of f32[] and i32[]: the element types differ");
  EXPECT_EQ(refusal("exp", {"i32[3]"}), "`exp` of i32[3]: needs floating-point operands; convert with astype");
  EXPECT_EQ(refusal("logical_and", {"i32[]", "i32[]"}), "`logical_and` of i32[] and i32[]: needs bool operands; compare with 0 first");
  EXPECT_EQ(refusal("bitwise_and", {"f32[]", "f32[]"}), "`bitwise_and` of f32[] and f32[]: needs integers or bool");
  EXPECT_EQ(refusal("where", {"i32[]", "f32[]", "f32[]"}), "`where` of i32[], f32[] and f32[]: the condition must be bool");
  EXPECT_EQ(refusal("multiply", {"f32[1073741824, 1]", "f32[4294967296]"}),
            "`multiply` of f32[1073741824, 1] and f32[4294967296]: the result f32[1073741824, 4294967296] would be too large");
}

TEST(ElementwiseOps, LogicAndBits) {
  const Array a = Array::of<bool>({4}, {false, false, true, true}), b = Array::of<bool>({4}, {false, true, false, true});
  EXPECT_THAT(elements(call_op("logical_and", {a, b})), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(elements(call_op("logical_or", {a, b})), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(elements(call_op("logical_xor", {a, b})), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(elements(call_op("logical_not", {a})), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(elements(call_op("bitwise_invert", {a})), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(elements(call_op("bitwise_xor", {a, b})), ElementsAre(0, 1, 1, 0));
  const Array x = Array::of<std::int32_t>({3}, {12, -1, 0}), y = Array::of<std::int32_t>({3}, {10, 7, 5});
  EXPECT_THAT(elements(call_op("bitwise_and", {x, y})), ElementsAre(8, 7, 0));
  EXPECT_THAT(elements(call_op("bitwise_or", {x, y})), ElementsAre(14, -1, 5));
  EXPECT_THAT(elements(call_op("bitwise_xor", {x, y})), ElementsAre(6, -8, 5));
  EXPECT_THAT(elements(call_op("bitwise_invert", {x})), ElementsAre(-13, 0, -1));
  EXPECT_THAT(elements(call_op("bitwise_invert", {Array::of<std::uint8_t>({2}, {0, 200})})), ElementsAre(255, 55));
}

TEST(ElementwiseOps, Comparisons) {
  const Array a = Array::of<std::int64_t>({3}, {1, 2, 3}), b = Array::of<std::int64_t>({3}, {2, 2, 2});
  EXPECT_THAT(elements(call_op("less", {a, b})), ElementsAre(1, 0, 0));
  EXPECT_THAT(elements(call_op("less_equal", {a, b})), ElementsAre(1, 1, 0));
  EXPECT_THAT(elements(call_op("greater", {a, b})), ElementsAre(0, 0, 1));
  EXPECT_THAT(elements(call_op("greater_equal", {a, b})), ElementsAre(0, 1, 1));
  EXPECT_EQ(call_op("equal", {a, b}), Array::of<bool>({3}, {false, true, false}));
  const Array near = Array::of<std::int64_t>({1}, {INT64_MAX}), nearer = Array::of<std::int64_t>({1}, {INT64_MAX - 1});
  EXPECT_THAT(elements(call_op("greater", {near, nearer})), ElementsAre(1)) << "not compared as double";
}

TEST(ElementwiseOps, WhereClipAndAstype) {
  const Array choice = Array::of<bool>({2, 1}, {true, false});
  EXPECT_THAT(elements(call_op("where", {choice, Array::of<float>({2}, {1, 2}), Array::scalar<float>(9)})), ElementsAre(1, 2, 9, 9));
  const Array x = Array::of<float>({4}, {-5, 0.5F, 5, NAN});
  expect_near(call_op("clip", {x, Array::scalar<float>(-1), Array::scalar<float>(1)}), {-1, 0.5, 1, NAN}, 0, "clip");
  expect_near(call_op("clip", {x, Array::scalar<float>(2), Array::scalar<float>(1)}), {1, 1, 1, NAN}, 0, "clip, ends crossed");

  const Array real = Array::of<double>({7}, {1.9, -1.9, NAN, 1e30, -1e30, 0.5, -0.0});
  const auto as = [](const Array& from, DType to) { return call_op("astype", {from}, {{"dtype", to}}); };
  EXPECT_EQ(as(real, DType::i32), Array::of<std::int32_t>({7}, {1, -1, 0, INT32_MAX, INT32_MIN, 0, 0}));
  EXPECT_EQ(as(real, DType::i64), Array::of<std::int64_t>({7}, {1, -1, 0, INT64_MAX, INT64_MIN, 0, 0}));
  EXPECT_EQ(as(real, DType::u8), Array::of<std::uint8_t>({7}, {1, 0, 0, 255, 0, 0, 0}));
  EXPECT_EQ(as(real, DType::boolean), Array::of<bool>({7}, {true, true, true, true, true, true, false}));
  EXPECT_EQ(as(Array::of<float>({2}, {2147483648.0F, 2147483520.0F}), DType::i32), Array::of<std::int32_t>({2}, {INT32_MAX, 2147483520}));
  EXPECT_EQ(as(Array::of<std::int32_t>({3}, {300, -1, 256}), DType::u8), Array::of<std::uint8_t>({3}, {44, 255, 0}));
  EXPECT_EQ(as(Array::of<std::int64_t>({1}, {std::int64_t{1} << 32 | 5}), DType::i32), Array::of<std::int32_t>({1}, {5}));
  EXPECT_THAT(elements(as(Array::of<double>({2}, {1.0 / 3, 70000}), DType::f16)), ElementsAre(0.333251953125, kInf));
  EXPECT_THAT(elements(as(Array::of<bool>({2}, {true, false}), DType::f32)), ElementsAre(1, 0));
}

/// The text that devices generate code from is the text of the function that runs here.
TEST(ElementwiseOps, ScalarTexts) {
  EXPECT_EQ(find_op("add")->scalar, "a + b");
  EXPECT_EQ(find_op("exp")->scalar, "exp(a)");
  EXPECT_EQ(find_op("gelu")->scalar, "a / 2 * (1 + erf(a / sqrt((T)2)))");
  EXPECT_EQ(find_op("where")->scalar, "a ? b : c");
  EXPECT_EQ(find_op("pow")->scalar, "pow(a, b)");
  EXPECT_EQ(find_op("pow")->scalar_integer, "integer_power<T>(a, b)");
  EXPECT_EQ(find_op("relu")->scalar_integer, find_op("relu")->scalar);
  EXPECT_EQ(find_op("floor_divide")->scalar, "floor_quotient<T>(a, b)");
  for (const scalars::PreludeFunction& function : scalars::kPrelude)
    EXPECT_TRUE(function.text.starts_with("template <class T> T " + std::string(function.name) + "(")) << function.text;
}

}  // namespace
}  // namespace cleave::testing
