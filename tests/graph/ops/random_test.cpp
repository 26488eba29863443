// The random generator: known answers, its distribution, and that numbers depend on seed, step and position alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "graph/ops/random_bits.h"
#include "tests/support/op_call.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Integers = std::vector<std::int64_t>;
using random_bits::Block;

std::vector<unsigned int> words(const Block& block) {
  return {block.word, block.word + 4};
}

/// The test vectors published with the generator (Random123, kat_vectors: philox4x32, 10 rounds).
TEST(Random, PhiloxKnownAnswers) {
  EXPECT_THAT(words(random_bits::philox({{0, 0, 0, 0}}, 0)), ElementsAre(0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U));
  constexpr unsigned int kOnes = 0xffffffffU;
  EXPECT_THAT(words(random_bits::philox({{kOnes, kOnes, kOnes, kOnes}}, ~0ULL)),
              ElementsAre(0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU));
  EXPECT_THAT(words(random_bits::philox({{0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}}, 0x299f31d0a4093822ULL)),
              ElementsAre(0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U));
}

TEST(Random, LogarithmIsTheLibrarys) {
  for (double x = 1; x > 1e-10; x *= 0.93) EXPECT_NEAR(random_bits::log_unit(x), std::log(x), 1e-14 * (1 - std::log(x))) << x;
}

TEST(Random, InverseNormalInvertsTheDistribution) {
  for (int i = 1; i < 4000; ++i) {
    const double p = i < 2000 ? std::ldexp(1 + i % 7 / 7.0, -i % 31 - 2) : i / 4000.0;
    const double z = random_bits::inverse_normal(p);
    const double back = std::erfc(-z / std::sqrt(2)) / 2;
    EXPECT_NEAR(back / p, 1, 1e-7) << p;
    EXPECT_NEAR(random_bits::inverse_normal(1 - p), -z, 1e-6) << p;
  }
  EXPECT_NEAR(random_bits::inverse_normal(0.975), 1.959963985, 1e-8);
}

Array draw(const char* op, std::int64_t count, Attributes attributes, const std::vector<Array>& step = {}) {
  attributes.set("shape", Integers{count});
  return call_op(op, step, attributes);
}

/// Each place takes each number equally often: chi-squared with 49 degrees of freedom, and no order is twice as frequent as another.
TEST(Random, OrdersAreEquallyLikely) {
  constexpr int kNumbers = 8, kOrders = 16000;
  std::vector<std::vector<double>> counts(kNumbers, std::vector<double>(kNumbers, 0));
  std::map<std::vector<double>, int> of_four;
  for (int step = 0; step < kOrders; ++step) {
    const std::vector<Array> steps{Array::scalar<std::int32_t>(step)};
    const std::vector<double> order =
        elements(call_op("random_permutation", steps, {{"n", std::int64_t{kNumbers}}, {"seed", std::int64_t{5}}}));
    for (std::size_t place = 0; place < kNumbers; ++place) ++counts[place][static_cast<std::size_t>(order[place])];
    ++of_four[elements(call_op("random_permutation", steps, {{"n", std::int64_t{4}}}))];
  }
  double distance = 0;
  constexpr double kExpected = kOrders / kNumbers;
  for (const auto& place : counts)
    for (const double count : place) distance += (count - kExpected) * (count - kExpected) / kExpected;
  EXPECT_NEAR(distance, 49, 40);  // four standard deviations
  EXPECT_EQ(of_four.size(), 24U);
  for (const auto& [order, count] : of_four) EXPECT_NEAR(count, kOrders / 24, 110);
}

TEST(Random, OrdersHoldEachNumberOnce) {
  for (const std::int64_t n : {0, 1, 2, 1000}) {
    std::vector<double> order = elements(call_op("random_permutation", {}, {{"n", n}, {"seed", std::int64_t{-3}}}));
    std::sort(order.begin(), order.end());
    ASSERT_EQ(static_cast<std::int64_t>(order.size()), n);
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
  }
  EXPECT_EQ(refusal("random_permutation", {}, {{"n", std::int64_t{-1}}}),
            "`random_permutation`: `n` is a number from 0 to 2147483647, not -1");
  EXPECT_EQ(refusal("random_permutation", {"f32[]"}, {{"n", std::int64_t{4}}}),
            "`random_permutation` of f32[]: `step` must be an integer scalar");
}

/// A range of three quarters of 2^32 integers: plain scaling of 32 random bits would draw every third one twice as often.
TEST(Random, IntegersAreEquallyLikely) {
  constexpr std::int64_t kCount = 90000, kRange = std::int64_t{3} << 30;
  for (const std::int64_t range : {kRange, kRange << 31, std::int64_t{6}}) {
    const Array drawn =
        draw("random_integers", kCount, {{"low", std::int64_t{0}}, {"high", range}, {"seed", std::int64_t{3}}, {"dtype", DType::i64}});
    std::vector<int> bins(3, 0);
    double sum = 0;
    for (const std::int64_t v : drawn.values<std::int64_t>()) {
      ASSERT_TRUE(v >= 0 && v < range);
      ++bins[static_cast<std::size_t>(v % 3)];
      sum += static_cast<double>(v) / static_cast<double>(range - 1);
    }
    for (const int bin : bins) EXPECT_NEAR(bin, kCount / 3, 600) << range;
    EXPECT_NEAR(sum / kCount, 0.5, 0.005) << range;
  }
}

TEST(Random, IntegersStayWithinTheirBounds) {
  const Attributes all = {{"low", std::int64_t{-128}}, {"high", std::int64_t{128}}, {"dtype", DType::i8}};
  std::set<double> seen;
  for (const double v : elements(draw("random_integers", 20000, all))) seen.insert(v);
  EXPECT_EQ(seen.size(), 256U);
  EXPECT_EQ(refusal("random_integers", {}, {{"shape", Integers{3}}, {"low", std::int64_t{5}}, {"high", std::int64_t{5}}}),
            "`random_integers`: there is no integer from 5 to below 5; `high` is not drawn");
  EXPECT_EQ(
      refusal("random_integers", {}, {{"shape", Integers{3}}, {"low", std::int64_t{0}}, {"high", std::int64_t{300}}, {"dtype", DType::u8}}),
      "`random_integers`: from 0 to below 300 is beyond u8");
}

TEST(Random, UniformIsUniform) {
  constexpr std::int64_t kCount = 100000;
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto values =
        elements(draw("random_uniform", kCount, {{"seed", std::int64_t{5}}, {"low", -1.0}, {"high", 3.0}, {"dtype", dtype}}));
    std::vector<int> bins(16, 0);
    double sum = 0;
    for (const double v : values) {
      ASSERT_TRUE(v >= -1 && v < 3) << v;
      ++bins[static_cast<std::size_t>((v + 1) * 4)];
      sum += v;
    }
    EXPECT_NEAR(sum / kCount, 1, 0.015);  // four standard deviations
    double chi_square = 0;
    for (const int n : bins) chi_square += (n - kCount / 16.0) * (n - kCount / 16.0) / (kCount / 16.0);
    EXPECT_LT(chi_square, 38) << "15 degrees of freedom: more once in a thousand seeds";
  }
}

TEST(Random, NormalIsNormal) {
  constexpr std::int64_t kCount = 100000;
  const auto values = elements(draw("random_normal", kCount, {{"seed", std::int64_t{6}}, {"mean", 2.0}, {"std", 3.0}}));
  double sum = 0, squares = 0;
  int beyond_two = 0;
  for (const double v : values) {
    const double z = (v - 2) / 3;
    sum += z;
    squares += z * z;
    beyond_two += std::abs(z) > 2 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.013);
  EXPECT_NEAR(squares / kCount, 1, 0.018);
  EXPECT_NEAR(beyond_two / static_cast<double>(kCount), 0.0455, 0.003);
}

TEST(Random, SeedStepAndPositionDecide) {
  const Attributes seed = {{"seed", std::int64_t{7}}};
  const auto step = [](std::int32_t n) { return std::vector<Array>{Array::scalar(n)}; };
  for (const char* op : {"random_uniform", "random_normal"}) {
    const Array numbers = draw(op, 9, seed);
    EXPECT_EQ(numbers, draw(op, 9, seed));
    EXPECT_EQ(numbers, draw(op, 9, seed, step(0))) << "no step is step 0";
    EXPECT_EQ(draw(op, 9, seed, step(3)), draw(op, 9, seed, {Array::scalar<std::int64_t>(3)}));
    const auto some = elements(numbers), more = elements(draw(op, 20, seed));
    EXPECT_TRUE(std::equal(some.begin(), some.end(), more.begin())) << "longer tensors begin alike";
    std::set<std::vector<double>> distinct = {some, elements(draw(op, 9, {{"seed", std::int64_t{8}}}))};
    for (const std::int32_t n : {1, 2, -1}) distinct.insert(elements(draw(op, 9, seed, step(n))));
    EXPECT_EQ(distinct.size(), 5U);
  }
}

/// These bits are a promise: programs with seeds give the same results in every version and on every device.
TEST(Random, TheNumbersThemselves) {
  const auto bits = [](const Array& array) {
    std::vector<std::string> text;
    for (const double v : elements(array)) {
      char buffer[40];
      std::snprintf(buffer, sizeof buffer, "%a", v);
      text.emplace_back(buffer);
    }
    return text;
  };
  EXPECT_THAT(bits(draw("random_uniform", 4, {})), ElementsAre("0x1.989fap-2", "0x1.c2d38ap-1", "0x1.78af58p-1", "0x1.3601b6p-1"));
  EXPECT_THAT(bits(draw("random_normal", 4, {})), ElementsAre("-0x1.05f4ap-2", "0x1.2d769ep+0", "0x1.42a76ep-1", "0x1.11fbd6p-2"));
}

TEST(Random, NeverReachesTheUpperEnd) {
  const float high = 1.0F, low = std::nextafter(high, 0.0F);
  for (const double unit : {0.0, 0.4, 0.6, 1 - 0x1p-24, 1 - 0x1p-53}) EXPECT_EQ(random_bits::stretch<float>(unit, low, high), low);
  EXPECT_THAT(elements(draw("random_uniform", 2, {{"low", 4.0}, {"high", 4.0}})), ElementsAre(4, 4));
}

TEST(Random, Refusals) {
  const Attributes shape = {{"shape", Integers{2}}};
  const auto with = [&](const char* name, AttributeValue value) {
    Attributes all = shape;
    all.set(name, std::move(value));
    return all;
  };
  EXPECT_EQ(refusal("random_uniform", {}, with("low", 2.0)), "`random_uniform`: `low` must not exceed `high`");
  EXPECT_EQ(refusal("random_normal", {}, with("std", -1.0)), "`random_normal`: `std` must not be negative");
  EXPECT_EQ(refusal("random_normal", {}, with("dtype", DType::i32)), "`random_normal`: draws f32 or f64; convert with astype");
  EXPECT_EQ(refusal("random_normal", {"f32[]"}, shape), "`random_normal` of f32[]: `step` must be an integer scalar");
  EXPECT_EQ(refusal("random_normal", {"i32[1]"}, shape), "`random_normal` of i32[1]: `step` must be an integer scalar");
}

}  // namespace
}  // namespace cleave::testing
