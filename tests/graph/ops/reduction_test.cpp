// Results of matmul, the reductions and softmax; the expected numbers are NumPy's unless a comment says otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/counting.h"
#include "tests/support/op_call.h"

namespace cleave::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using Integers = std::vector<std::int64_t>;

std::vector<::testing::Matcher<double>> near(const std::vector<double>& values, double tolerance) {
  std::vector<::testing::Matcher<double>> matchers;
  for (const double value : values) matchers.push_back(DoubleNear(value, tolerance));
  return matchers;
}

TEST(Matmul, MatricesVectorsAndBatches) {
  const Array a = counting<float>({2, 2, 3}), b = counting<float>({1, 3, 2}, -2), v = counting<float>({3});
  const Array product = call_op("matmul", {a, b});
  EXPECT_EQ(product.shape(), (Shape{2, 2, 2}));
  EXPECT_THAT(elements(product), ElementsAre(4, 7, 4, 16, 4, 25, 4, 34));
  const Array row = call_op("matmul", {v, b});
  EXPECT_EQ(row.shape(), (Shape{1, 2}));
  EXPECT_THAT(elements(row), ElementsAre(4, 7));
  const Array column = call_op("matmul", {a, v});
  EXPECT_EQ(column.shape(), (Shape{2, 2}));
  EXPECT_THAT(elements(column), ElementsAre(5, 14, 23, 32));
  const Array inner = call_op("matmul", {v, v});
  EXPECT_TRUE(inner.type().scalar());
  EXPECT_THAT(elements(inner), ElementsAre(5));
  EXPECT_THAT(elements(call_op("matmul", {Array(TensorType{DType::f32, {2, 0}}), Array(TensorType{DType::f32, {0, 1}})})),
              ElementsAre(0, 0));
}

TEST(Matmul, BothBatchesBroadcast) {
  const Array a = counting<std::int64_t>({2, 1, 1, 2}), b = counting<std::int64_t>({3, 2, 1});
  const Array product = call_op("matmul", {a, b});
  EXPECT_EQ(product.shape(), (Shape{2, 3, 1, 1}));
  EXPECT_THAT(elements(product), ElementsAre(1, 3, 5, 3, 13, 23));
}

TEST(Matmul, IntegersWrapAndFloatsAccumulateInDouble) {
  EXPECT_THAT(elements(call_op("matmul", {Array::of<std::int32_t>({2}, {65536, 1}), Array::of<std::int32_t>({2}, {65536, 7})})),
              ElementsAre(7));
  const Array large = Array::of<float>({3}, {1e8F, 1, -1e8F}), ones = Array::of<float>({3}, {1, 1, 1});
  EXPECT_THAT(elements(call_op("matmul", {large, ones})), ElementsAre(1));
}

TEST(Matmul, Refusals) {
  EXPECT_EQ(refusal("matmul", {"f32[4, 2]", "f32[3, 1]"}), "`matmul` of f32[4, 2] and f32[3, 1]: the inner extents 2 and 3 differ");
  EXPECT_EQ(refusal("matmul", {"f32[]", "f32[3]"}), "`matmul` of f32[] and f32[3]: a scalar is no matrix; multiply with `*`");
  EXPECT_EQ(refusal("matmul", {"f32[2, 3, 4]", "f32[5, 4, 1]"}),
            "`matmul` of f32[2, 3, 4] and f32[5, 4, 1]: the leading axes do not broadcast");
  EXPECT_EQ(refusal("matmul", {"bool[2]", "bool[2]"}), "`matmul` of bool[2] and bool[2]: needs numbers, not bool; convert with astype");
  EXPECT_EQ(refusal("matmul", {"f32[2]", "f64[2]"}), "`matmul` of f32[2] and f64[2]: the element types differ");
  EXPECT_NE(refusal("matmul", {"f32[4294967296, 1]", "f32[1, 4294967296]"}).find("would be too large"), std::string::npos);
}

/// 2 x 3 x 4 numbers from -3 to 3, as floats or integers.
template <class T>
Array cube() {
  Array array(TensorType{DTypeOf<T>::value, {2, 3, 4}});
  for (int i = 0; i < 24; ++i) array.mutable_data<T>()[i] = static_cast<T>(i % 7 - 3);
  return array;
}

struct ReductionCase {
  const char* op;
  std::vector<double> outer, middle;  ///< over axes 0 and 2, over axis 1
  double all;
};

TEST(Reductions, OverSomeAndAllAxes) {
  const ReductionCase cases[] = {
      {"sum", {-6, 5, -5}, {-4, -1, 2, -2, 4, 0, -4, -1}, -6},
      {"prod", {0, 0, 0}, {6, 4, 0, 0, -6, 0, 6, 4}, 0},
      {"max", {3, 3, 3}, {1, 2, 3, 1, 3, 3, 1, 2}, 3},
      {"min", {-3, -3, -3}, {-3, -2, -1, -3, -1, -3, -3, -2}, -3},
      {"any", {1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1}, 1},
      {"all", {0, 0, 0}, {1, 1, 0, 0, 1, 0, 1, 1}, 0},
      {"mean", {-0.75, 0.625, -0.625}, {-4 / 3., -1 / 3., 2 / 3., -2 / 3., 4 / 3., 0, -4 / 3., -1 / 3.}, -0.25},
  };
  for (const ReductionCase& c : cases) {
    SCOPED_TRACE(c.op);
    for (const Array& x : {cube<float>(), cube<double>(), cube<std::int32_t>(), cube<std::int64_t>()}) {
      if (std::string(c.op) == "mean" && !is_floating(x.dtype())) continue;
      EXPECT_THAT(elements(call_op(c.op, {x}, {{"axis", Integers{2, 0}}})), ElementsAreArray(near(c.outer, 1e-6)));
      EXPECT_THAT(elements(call_op(c.op, {x}, {{"axis", std::int64_t{-2}}})), ElementsAreArray(near(c.middle, 1e-6)));
      EXPECT_THAT(elements(call_op(c.op, {x})), ElementsAre(c.all));
    }
  }
}

TEST(Reductions, ShapesAndTypes) {
  const auto type = [](const char* op, const char* input, const Attributes& attributes) {
    return to_string(std::get<0>(infer(*find_op(op), {*parse_tensor_type(input)}, attributes)).at(0));
  };
  EXPECT_EQ(type("sum", "f32[2, 3, 4]", {}), "f32[]");
  EXPECT_EQ(type("sum", "f32[2, 3, 4]", {{"keepdims", true}}), "f32[1, 1, 1]");
  EXPECT_EQ(type("sum", "f32[2, 3, 4]", {{"axis", std::int64_t{1}}, {"keepdims", true}}), "f32[2, 1, 4]");
  EXPECT_EQ(type("sum", "f32[2, 3, 4]", {{"axis", Integers{-1, 0}}}), "f32[3]");
  EXPECT_EQ(type("sum", "f32[2, 3]", {{"axis", Integers{}}}), "f32[2, 3]");
  EXPECT_EQ(type("sum", "bool[5]", {}), "i32[]");
  EXPECT_EQ(type("prod", "u8[5]", {}), "i32[]");
  EXPECT_EQ(type("sum", "i64[5]", {}), "i64[]");
  EXPECT_EQ(type("sum", "f16[5]", {}), "f16[]");
  EXPECT_EQ(type("max", "u8[5]", {}), "u8[]");
  EXPECT_EQ(type("any", "f32[2, 3]", {{"axis", std::int64_t{0}}}), "bool[3]");
  EXPECT_EQ(type("argmax", "f64[2, 3]", {{"axis", std::int64_t{0}}}), "i32[3]");
  EXPECT_EQ(find_op("mean")->promotion, Promotion::floating) << "the mean of integers is f32";
}

TEST(Reductions, SumsOfSmallIntegersAreWideEnough) {
  const auto type = [](const char* op, const std::vector<std::string>& inputs, const Attributes& attributes = {}) {
    std::vector<TensorType> types;
    for (const std::string& input : inputs) types.push_back(*parse_tensor_type(input));
    return to_string(std::get<0>(infer(*find_function(op), types, attributes)).at(0));
  };
  EXPECT_EQ(type("sum", {"bool[2147483647]"}), "i32[]");
  EXPECT_EQ(type("sum", {"bool[2147483648]"}), "i64[]");
  EXPECT_EQ(type("sum", {"u8[8421504]"}), "i32[]");
  EXPECT_EQ(type("sum", {"u8[8421505]"}), "i64[]");
  EXPECT_EQ(type("sum", {"u8[4096, 4096, 3]"}), "i64[]") << "an image of 16 megapixels";
  EXPECT_EQ(type("sum", {"u8[4096, 4096, 3]"}, {{"axis", std::int64_t{0}}}), "i32[4096, 3]");
  EXPECT_EQ(type("sum", {"i8[16777215]"}), "i32[]");
  EXPECT_EQ(type("sum", {"i8[16777216]"}), "i64[]");
  EXPECT_EQ(type("sum", {"u16[32768]"}), "i32[]");
  EXPECT_EQ(type("sum", {"u16[32769]"}), "i64[]");
  EXPECT_EQ(type("sum", {"i16[65536]"}), "i64[]");
  EXPECT_EQ(type("sum", {"i32[4294967296]"}), "i32[]") << "wraps";
  EXPECT_EQ(type("sum", {"u32[9]"}), "u32[]");
  EXPECT_EQ(type("prod", {"u8[100]"}), "i32[]") << "wraps";
  EXPECT_EQ(type("cumulative_sum", {"u8[8421505]"}), "i64[8421505]");
  EXPECT_EQ(type("cumulative_sum", {"u8[2, 9]"}, {{"axis", std::int64_t{0}}}), "i32[2, 9]");
  EXPECT_EQ(type("cumulative_prod", {"u8[8421505]"}), "i32[8421505]") << "wraps";
  EXPECT_EQ(type("count_nonzero", {"f32[2147483647]"}), "i32[]");
  EXPECT_EQ(type("count_nonzero", {"u8[2147483648]"}), "i64[]");
  EXPECT_EQ(type("count_nonzero", {"u8[65536, 65536]"}, {{"axis", std::int64_t{0}}}), "i32[65536]");
  EXPECT_EQ(type("trace", {"u16[40000, 40000]"}), "i64[]");
  EXPECT_EQ(type("trace", {"u8[40000, 40000]"}), "i32[]");
  EXPECT_EQ(type("matmul", {"u8[2, 33025]", "u8[33025, 2]"}), "i32[2, 2]");
  EXPECT_EQ(type("matmul", {"u8[2, 33026]", "u8[33026, 2]"}), "i64[2, 2]");
  EXPECT_EQ(type("matmul", {"i8[131071]", "i8[131071]"}), "i32[]");
  EXPECT_EQ(type("matmul", {"i8[131072]", "i8[131072]"}), "i64[]");
  EXPECT_EQ(type("matmul", {"u16[1, 1]", "u16[1, 1]"}), "i64[1, 1]") << "a single product is more than i32 holds";
  EXPECT_EQ(type("vecdot", {"u8[33026]", "u8[33026]"}), "i64[]");
  EXPECT_EQ(type("vecdot", {"u8[5, 9]", "u8[9]"}), "i32[5]");
  EXPECT_EQ(type("tensordot", {"u8[300, 300]", "u8[300, 300]"}), "i64[]");
  EXPECT_EQ(type("tensordot", {"u8[300, 300]", "u8[300, 300]"}, {{"axes", std::int64_t{1}}}), "i32[300, 300]");
  EXPECT_EQ(type("einsum", {"u8[9]", "u8[9]"}, {{"equation", std::string("i,i->")}}), "u8[]") << "as NumPy's";

  EXPECT_EQ(call_op("sum", {Array::of<std::uint16_t>({2}, {65535, 65535})}), Array::scalar<std::int32_t>(131070));
  Array many(TensorType{DType::u16, {40000}});
  std::fill_n(many.mutable_data<std::uint16_t>(), many.size(), std::uint16_t{65535});
  EXPECT_EQ(call_op("sum", {many}), Array::scalar<std::int64_t>(40000LL * 65535));
  EXPECT_EQ(call_op("cumulative_sum", {many}).data<std::int64_t>()[39999], 40000LL * 65535);
  EXPECT_EQ(call_op("matmul", {many, many}), Array::scalar<std::int64_t>(40000LL * 65535 * 65535));
}

TEST(Reductions, EdgesOfTheirRange) {
  const Array empty(TensorType{DType::f32, {2, 0}});
  EXPECT_THAT(elements(call_op("sum", {empty}, {{"axis", std::int64_t{1}}})), ElementsAre(0, 0));
  EXPECT_THAT(elements(call_op("prod", {empty})), ElementsAre(1));
  EXPECT_THAT(elements(call_op("all", {empty})), ElementsAre(1));
  EXPECT_THAT(elements(call_op("any", {empty})), ElementsAre(0));
  EXPECT_TRUE(std::isnan(elements(call_op("mean", {empty}))[0]));
  EXPECT_EQ(call_op("max", {empty}, {{"axis", std::int64_t{0}}}).size(), 0);
  EXPECT_EQ(refusal("max", {"f32[2, 0]"}, {{"axis", std::int64_t{1}}}), "`max` of f32[2, 0]: there are no elements to choose from");

  EXPECT_THAT(elements(call_op("sum", {Array::of<std::int32_t>({2}, {INT32_MAX, 1})})), ElementsAre(INT32_MIN)) << "wraps";
  EXPECT_THAT(elements(call_op("sum", {Array::of<std::uint8_t>({2}, {200, 100})})), ElementsAre(300));
  EXPECT_THAT(elements(call_op("sum", {Array::of<bool>({3}, {true, false, true})})), ElementsAre(2));
  EXPECT_THAT(elements(call_op("sum", {Array::of<float>({3}, {1e8F, 1, -1e8F})})), ElementsAre(1)) << "accumulates in double";
  EXPECT_EQ(call_op("max", {Array::of<std::int64_t>({2}, {INT64_MAX - 1, INT64_MAX})}), Array::scalar<std::int64_t>(INT64_MAX));
  const Array beyond = Array::of<std::uint64_t>({3}, {1, UINT64_MAX, 0});
  EXPECT_EQ(call_op("max", {beyond}), Array::scalar<std::uint64_t>(UINT64_MAX));
  EXPECT_EQ(call_op("min", {beyond}), Array::scalar<std::uint64_t>(0));
  EXPECT_THAT(elements(call_op("argmax", {beyond})), ElementsAre(1));
  EXPECT_THAT(elements(call_op("argmin", {beyond})), ElementsAre(2));
}

TEST(Reductions, NanIsTheExtreme) {
  const Array x = Array::of<float>({4}, {1, NAN, 3, NAN});
  EXPECT_TRUE(std::isnan(elements(call_op("max", {x}))[0]));
  EXPECT_TRUE(std::isnan(elements(call_op("min", {x}))[0]));
  EXPECT_THAT(elements(call_op("argmax", {x})), ElementsAre(1));
  EXPECT_THAT(elements(call_op("argmin", {x})), ElementsAre(1));
  EXPECT_THAT(elements(call_op("any", {Array::of<float>({1}, {NAN})})), ElementsAre(1));
}

TEST(Reductions, PlacesOfTheExtremes) {
  const Array x = cube<float>();
  EXPECT_THAT(elements(call_op("argmax", {x})), ElementsAre(6));
  EXPECT_THAT(elements(call_op("argmin", {x})), ElementsAre(0));
  EXPECT_THAT(elements(call_op("argmax", {x}, {{"axis", std::int64_t{1}}})), ElementsAre(1, 1, 1, 2, 2, 0, 1, 1));
  EXPECT_THAT(elements(call_op("argmin", {x}, {{"axis", std::int64_t{-1}}})), ElementsAre(0, 3, 0, 2, 0, 1));
  EXPECT_EQ(call_op("argmax", {x}, {{"axis", std::int64_t{1}}, {"keepdims", true}}).shape(), (Shape{2, 1, 4}));
}

TEST(Reductions, CumulativeSum) {
  EXPECT_THAT(elements(call_op("cumulative_sum", {cube<std::int32_t>()}, {{"axis", std::int64_t{1}}})),
              ElementsAre(-3, -2, -1, 0, -2, 0, 2, -3, -4, -1, 2, -2, 2, 3, -3, -2, 1, 3, -2, 0, 4, 0, -4, -1));
  const Array counts = call_op("cumulative_sum", {Array::of<bool>({3}, {true, true, false})});
  EXPECT_EQ(counts, Array::of<std::int32_t>({3}, {1, 2, 2}));
  EXPECT_EQ(refusal("cumulative_sum", {"f32[2, 3]"}), "`cumulative_sum` of f32[2, 3]: needs an axis unless x has exactly one");
}

TEST(Reductions, Refusals) {
  EXPECT_EQ(refusal("sum", {"f32[2, 3]"}, {{"axis", std::int64_t{2}}}), "`sum` of f32[2, 3]: there is no axis 2 among 2 axes");
  EXPECT_EQ(refusal("sum", {"f32[]"}, {{"axis", std::int64_t{0}}}), "`sum` of f32[]: there is no axis 0 among no axes");
  EXPECT_EQ(refusal("sum", {"f32[2, 3]"}, {{"axis", Integers{1, -1}}}), "`sum` of f32[2, 3]: axis -1 is named twice");
  EXPECT_EQ(refusal("max", {"bool[2]"}), "`max` of bool[2]: needs numbers, not bool; use `any` or `all`");
  EXPECT_EQ(refusal("mean", {"i32[2]"}), "`mean` of i32[2]: needs floating-point elements; convert with astype");
  EXPECT_EQ(refusal("sum", {"f32[2]"}, {{"axes", std::int64_t{0}}}), "`sum` has no attribute `axes`; did you mean `axis`?");
  EXPECT_EQ(refusal("sum", {"f32[2]"}, {{"axis", 0.5}}), "`axis` of `sum` must be an integer or a list of integers");
  EXPECT_EQ(refusal("sum", {"f32[2]", "f32[2]"}), "`sum` takes 1 operand, not 2");
}

TEST(Softmax, AlongAnAxis) {
  const Array x = Array::of<double>({2, 3}, {1, 2, 3, 1000, 1001, -1000});
  EXPECT_THAT(elements(call_op("softmax", {x})),
              ElementsAreArray(
                  near({0.09003057317038046, 0.24472847105479764, 0.6652409557748218, 0.2689414213699951, 0.7310585786300049, 0}, 1e-15)));
  EXPECT_THAT(elements(call_op("log_softmax", {x})), ElementsAreArray(near({-2.4076059644443806, -1.4076059644443804, -0.4076059644443804,
                                                                            -1.3132616875182228, -0.31326168751822286, -2001.3132616875182},
                                                                           1e-12)));
  const Array columns = call_op("transpose", {call_op("softmax", {call_op("transpose", {x})}, {{"axis", std::int64_t{0}}})});
  EXPECT_EQ(columns, call_op("softmax", {x}));
  EXPECT_EQ(refusal("softmax", {"f32[]"}), "`softmax` of f32[]: there is no axis -1 among no axes");
}

}  // namespace
}  // namespace cleave::testing
