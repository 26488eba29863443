// Numbers as text: the fewest digits that read back, C's printf without its locale, and the texts that are accepted as numbers.
#include "graph/base/number_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace cleave {
namespace {

TEST(NumberText, IsLaidOutAsNumPyDoes) {
  const std::pair<double, const char*> cases[] = {{0, "0.0"},
                                                  {-0.0, "-0.0"},
                                                  {1, "1.0"},
                                                  {-2.5, "-2.5"},
                                                  {0.1, "0.1"},
                                                  {1.0 / 3, "0.3333333333333333"},
                                                  {0.0001, "0.0001"},
                                                  {0.00001, "1e-05"},
                                                  {1.25e-7, "1.25e-07"},
                                                  {123456789012.5, "123456789012.5"},
                                                  {1e15, "1000000000000000.0"},
                                                  {1e16, "1e+16"},
                                                  {1.5e300, "1.5e+300"},
                                                  {5e-324, "5e-324"},
                                                  {NAN, "nan"},
                                                  {INFINITY, "inf"},
                                                  {-INFINITY, "-inf"}};
  for (const auto& [number, text] : cases) EXPECT_EQ(shortest_text(number), text);
  EXPECT_EQ(shortest_text(0.1F), "0.1");
  EXPECT_EQ(shortest_text(3.1415927F), "3.1415927");
  EXPECT_EQ(shortest_text(16777217.0F), "16777216.0");
  EXPECT_EQ(shortest_text(8.5899346e9F), "8589935000.0");
}

TEST(NumberText, TheShortestTextReadsBack) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) {
    const auto wide = std::bit_cast<double>(static_cast<std::uint64_t>(random()));
    const auto narrow = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isnan(wide)) {
      EXPECT_EQ(read_double(shortest_text(wide)), wide);
    }
    if (!std::isnan(narrow)) {
      EXPECT_EQ(read_float(shortest_text(narrow)), narrow);
    }
  }
}

TEST(NumberText, DigitsAsPrintfGivesThem) {
  std::mt19937_64 random(8);
  char expected[400];
  for (int i = 0; i < 20000; ++i) {
    const double number = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), static_cast<int>(random() % 200) - 160);
    for (const int digits : {1, 3, 6, 9, 17}) {
      std::snprintf(expected, sizeof expected, "%.*g", digits, number);
      EXPECT_EQ(general_text(number, digits), expected);
      std::snprintf(expected, sizeof expected, "%.*f", digits - 1, number);
      EXPECT_EQ(fixed_text(number, digits - 1), expected);
    }
  }
  EXPECT_EQ(fixed_text(-std::numeric_limits<double>::max(), 1).size(), 312U);
  EXPECT_EQ(general_text(NAN, 3), "nan");
  EXPECT_EQ(general_text(-INFINITY, 3), "-inf");
}

TEST(NumberText, WhatIsTooSmallIsZeroAndWhatIsTooLargeIsNoNumber) {
  EXPECT_EQ(read_double("1e-5000"), 0.0);
  EXPECT_TRUE(std::signbit(*read_double("-1e-5000")));
  EXPECT_EQ(read_double("0." + std::string(2000, '0') + "1e100"), 0.0);
  EXPECT_EQ(read_double("1" + std::string(50, '0') + "e-400"), 0.0);
  EXPECT_EQ(read_double("1e-99999999999999999999"), 0.0);
  EXPECT_EQ(read_double("1e99999999999999999999"), std::nullopt);
  EXPECT_EQ(read_double("1e400"), std::nullopt);
  EXPECT_EQ(read_double("0.001e400"), std::nullopt);
  EXPECT_EQ(read_double(std::string(400, '9')), std::nullopt);
  EXPECT_EQ(read_float("1e-60"), 0.0F);
  EXPECT_EQ(read_float("1e60"), std::nullopt);
  EXPECT_EQ(read_double("-inf"), -INFINITY);
  EXPECT_TRUE(std::isnan(*read_double("nan")));
  for (const char* wrong : {"", "x", "1x", "1 ", " 1", "1,5", "+1", "0x10", "1e", "--1", "e5"})
    EXPECT_EQ(read_double(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace cleave
