// Types, shapes, half precision (every bit pattern) and human-readable figures.
#include "graph/array/tensor_type.h"
#include "graph/base/units.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace cleave {
namespace {

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

/// The value of the bits by the definition of the format, computed in double.
double decode(std::uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) return mantissa != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

template <class Small>
void check_every_pattern(int exponent_bits, int mantissa_bits) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    Small small;
    small.bits = static_cast<std::uint16_t>(i);
    const float wide = static_cast<float>(small);
    const double meant = decode(small.bits, exponent_bits, mantissa_bits);
    if (std::isnan(meant)) {
      ASSERT_TRUE(std::isnan(wide)) << i;
      ASSERT_EQ(std::signbit(wide), (i & 0x8000u) != 0) << i;
      const Small back(wide);
      ASSERT_TRUE(std::isnan(decode(back.bits, exponent_bits, mantissa_bits))) << i;
      ASSERT_EQ(back.bits | 1u << (mantissa_bits - 1), small.bits | 1u << (mantissa_bits - 1)) << i;  // but for the quiet bit
      continue;
    }
    ASSERT_EQ(static_cast<double>(wide), meant) << i;
    ASSERT_EQ(std::signbit(wide), (i & 0x8000u) != 0) << i;
    ASSERT_EQ(Small(wide).bits, small.bits) << i;
  }
}

/// Around every pair of neighbors: just below the midpoint rounds down, the midpoint to the even one, just above it up.
template <class Small>
void check_every_midpoint(std::uint16_t largest, int exponent_bits, int mantissa_bits) {
  for (std::uint32_t i = 0; i < largest; ++i) {
    const auto low = static_cast<std::uint16_t>(i), high = static_cast<std::uint16_t>(i + 1);
    const double middle = (decode(low, exponent_bits, mantissa_bits) + decode(high, exponent_bits, mantissa_bits)) / 2;
    const auto exact = static_cast<float>(middle);
    ASSERT_EQ(static_cast<double>(exact), middle);
    ASSERT_EQ(Small(exact).bits, low % 2 == 0 ? low : high) << i;
    ASSERT_EQ(Small(std::nextafter(exact, 0.0F)).bits, low) << i;
    ASSERT_EQ(Small(std::nextafter(exact, INFINITY)).bits, high) << i;
    ASSERT_EQ(Small(-exact).bits, 0x8000 | (low % 2 == 0 ? low : high)) << i;
  }
}

TEST(Half, EveryPatternDecodesAndComesBack) {
  check_every_pattern<Half>(5, 10);
}
TEST(BFloat16, EveryPatternDecodesAndComesBack) {
  check_every_pattern<BFloat16>(8, 7);
}
TEST(Half, EveryMidpointRoundsToEven) {
  check_every_midpoint<Half>(0x7bff, 5, 10);
}
TEST(BFloat16, EveryMidpointRoundsToEven) {
  check_every_midpoint<BFloat16>(0x7f7f, 8, 7);
}

TEST(Half, OverflowsAndUnderflows) {
  EXPECT_EQ(Half(65504.0F).bits, 0x7bff);
  EXPECT_EQ(Half(std::nextafter(65520.0F, 0.0F)).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0F).bits, 0x7c00);
  EXPECT_EQ(Half(std::numeric_limits<float>::max()).bits, 0x7c00);
  EXPECT_EQ(Half(-INFINITY).bits, 0xfc00);
  EXPECT_EQ(Half(0x1p-25F).bits, 0);
  EXPECT_EQ(Half(std::nextafter(0x1p-25F, 1.0F)).bits, 1);
  EXPECT_EQ(Half(std::numeric_limits<float>::denorm_min()).bits, 0);
  EXPECT_EQ(Half(-0.0F).bits, 0x8000);
}

TEST(BFloat16, OverflowsAndKeepsNan) {
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x7f800001u)).bits, 0x7fc0);  // a NaN with low payload bits only does not become infinity
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0xffffffffu)).bits, 0xffff);
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x00008001u)).bits, 1);  // subnormal floats stay subnormal
}

TEST(Half, RandomFloatsRoundToTheNearest) {
  const unsigned seed = 20230917;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 200000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!(std::abs(value) < 65504.0F)) continue;
    const Half half(value);
    const double error = std::abs(decode(half.bits, 5, 10) - static_cast<double>(value));
    for (int step : {-1, 1}) {
      const auto neighbour = static_cast<std::uint16_t>(half.bits + step);
      if ((neighbour & 0x7fff) >= 0x7c00 || ((neighbour ^ half.bits) & 0x8000) != 0) continue;
      ASSERT_LE(error, std::abs(decode(neighbour, 5, 10) - static_cast<double>(value))) << bits_of(value);
    }
  }
}

TEST(DType, NamesAndSizes) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(to_string(type)), type);
    EXPECT_EQ(size_of(type), dispatch(type, [](auto zero) { return static_cast<std::int64_t>(sizeof zero); }));
  }
  EXPECT_EQ(parse_dtype("float32"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
  EXPECT_EQ(parse_dtype("F32"), std::nullopt);
}

TEST(DType, PromotesUpTheLine) {
  using enum DType;
  const std::vector<DType> line{boolean, u8, i32, i64, f16, f32, f64};
  for (std::size_t i = 0; i < line.size(); ++i) {
    for (std::size_t k = 0; k < line.size(); ++k) EXPECT_EQ(promote(line[i], line[k]), line[std::max(i, k)]);
  }
  EXPECT_EQ(promote(f16, bf16), f32);
  EXPECT_EQ(promote(bf16, f16), f32);
  EXPECT_EQ(promote(bf16, bf16), bf16);
  EXPECT_EQ(promote(bf16, i64), bf16);
  EXPECT_EQ(promote(f32, bf16), f32);
}

TEST(DType, IntegersMeetInTheSmallestThatHoldsBoth) {
  using enum DType;
  EXPECT_EQ(promote(i8, i16), i16);
  EXPECT_EQ(promote(u16, u32), u32);
  EXPECT_EQ(promote(u8, i8), i16);
  EXPECT_EQ(promote(i16, u16), i32);
  EXPECT_EQ(promote(u32, i32), i64);
  EXPECT_EQ(promote(u16, i32), i32);
  EXPECT_EQ(promote(u64, boolean), u64);
  EXPECT_EQ(promote(u64, f16), f16);
  for (int a = 0; a < kDTypeCount; ++a) {
    for (int b = 0; b < kDTypeCount; ++b) {
      const auto one = static_cast<DType>(a), other = static_cast<DType>(b);
      EXPECT_EQ(promote(one, other), promote(other, one));
      EXPECT_EQ(have_common_type(one, other), have_common_type(other, one));
      EXPECT_EQ(have_common_type(one, other),
                !((one == u64 && is_integer(other) && is_signed(other)) || (other == u64 && is_integer(one) && is_signed(one))));
      const bool both = is_integer(one) && is_integer(other) && have_common_type(one, other);
      if (!both) continue;
      for (const DType each : {one, other}) {
        EXPECT_GE(size_of(promote(one, other)), size_of(each));
        EXPECT_TRUE(is_signed(promote(one, other)) || !is_signed(each));
      }
    }
  }
}

TEST(TensorType, TextRoundTrips) {
  for (const char* text :
       {"f32[]", "f32[4, 2]", "bool[0]", "bf16[1, 2, 3, 4, 5, 6, 7, 8, 9]", "i64[4611686018427387904, 0]", "u8[4611686018427387904]"}) {
    const std::optional<TensorType> type = parse_tensor_type(text);
    if (std::string_view(text).starts_with("i64")) {
      EXPECT_FALSE(type) << text;  // its strides would overflow
      continue;
    }
    ASSERT_TRUE(type) << text;
    EXPECT_EQ(to_string(*type), text);
  }
  EXPECT_EQ(parse_tensor_type(" f32[ 4 ,2 ] "), (TensorType{DType::f32, {4, 2}}));
}

TEST(TensorType, RefusesJunk) {
  for (const char* text : {"",
                           "f32",
                           "f32[",
                           "f32]",
                           "f32[4",
                           "f32[4,]",
                           "f32[,4]",
                           "f32[,]",
                           "f32[4 2]",
                           "f32[-1]",
                           "f32[+1]",
                           "f32[4]x",
                           "f32[4]]",
                           "f33[4]",
                           "f32 [4]",
                           "[4]",
                           "f32[4.0]",
                           "f32[0x4]",
                           "f32[99999999999999999999]",
                           "f32[4294967296, 4294967296]",
                           "f32[1e3]",
                           "f32[[4]]",
                           "f32[a]"}) {
    EXPECT_FALSE(parse_tensor_type(text)) << text;
  }
}

TEST(TensorType, CheckedBytesRefusesAbsurdSizes) {
  EXPECT_EQ(checked_bytes({DType::f32, {}}), 4);
  EXPECT_EQ(checked_bytes({DType::f64, {3, 0, 5}}), 0);
  EXPECT_EQ(checked_bytes({DType::u8, {std::int64_t{1} << 62}}), std::int64_t{1} << 62);
  EXPECT_EQ(checked_bytes({DType::u8, {(std::int64_t{1} << 62) + 1}}), std::nullopt);
  EXPECT_EQ(checked_bytes({DType::f32, {std::int64_t{1} << 61}}), std::nullopt);
  EXPECT_EQ(checked_bytes({DType::f32, {-1}}), std::nullopt);
  EXPECT_EQ(checked_bytes({DType::f32, {0, -1}}), std::nullopt);
  EXPECT_EQ(checked_bytes({DType::f32, {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max(), 2}}),
            std::nullopt);
  EXPECT_EQ(checked_bytes({DType::u8, Shape(64, 2)}), std::nullopt);
}

TEST(Shape, BroadcastsAsNumPy) {
  EXPECT_EQ(broadcast({4, 1}, {3}), (Shape{4, 3}));
  EXPECT_EQ(broadcast({3}, {4, 1}), (Shape{4, 3}));
  EXPECT_EQ(broadcast({}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast({8, 1, 6, 1}, {7, 1, 5}), (Shape{8, 7, 6, 5}));
  EXPECT_EQ(broadcast({0}, {1}), (Shape{0}));
  EXPECT_EQ(broadcast({0}, {2}), std::nullopt);
  EXPECT_EQ(broadcast({2, 3}, {3, 2}), std::nullopt);
  EXPECT_EQ(broadcast({2}, {3}), std::nullopt);
}

TEST(Shape, StridesAreRowMajor) {
  EXPECT_EQ(row_major_strides({}), (Shape{}));
  EXPECT_EQ(row_major_strides({5}), (Shape{1}));
  EXPECT_EQ(row_major_strides({2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(row_major_strides({2, 0, 4}), (Shape{4, 4, 1}));
}

TEST(Human, Bytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(0.5), "0.5 B");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1000), "1000 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(64 * 1024), "64 KiB");
  EXPECT_EQ(format_bytes(1000 * 1024), "0.98 MiB");
  EXPECT_EQ(format_bytes(4.0 * 1024 * 1024), "4.0 MiB");
  EXPECT_EQ(format_bytes(4.0 * 1024 * 1024 * 1024), "4.0 GiB");
  EXPECT_EQ(format_bytes(9.96 * 1024), "10 KiB");
  EXPECT_EQ(format_bytes(-64 * 1024), "-64 KiB");
}

TEST(Human, Seconds) {
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(0.41), "0.41 s");
  EXPECT_EQ(format_seconds(1.24e-6), "1.2 us");
  EXPECT_EQ(format_seconds(3.1e-3), "3.1 ms");
  EXPECT_EQ(format_seconds(0.0999), "0.10 s");
  EXPECT_EQ(format_seconds(0.05), "50 ms");
  EXPECT_EQ(format_seconds(5e-9), "5.0 ns");
  EXPECT_EQ(format_seconds(123.4), "123 s");
  EXPECT_EQ(format_seconds(-0.5), "-0.50 s");
}

}  // namespace
}  // namespace cleave
