// UTF-8 against a naive decoder: all short sequences of bytes, and random text.
#include "graph/base/utf8.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>

namespace cleave {
namespace {

/// Decodes literally by the definition: lengths from the leading bits, then overlong forms, surrogates and the end of Unicode by value.
std::optional<char32_t> naive_character(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.empty()) return std::nullopt;
  std::size_t length = 0;
  char32_t value = 0;
  if ((at(0) & 0x80u) == 0) {
    length = 1;
    value = at(0);
  } else if ((at(0) & 0xe0u) == 0xc0) {
    length = 2;
    value = at(0) & 0x1fu;
  } else if ((at(0) & 0xf0u) == 0xe0) {
    length = 3;
    value = at(0) & 0x0fu;
  } else if ((at(0) & 0xf8u) == 0xf0) {
    length = 4;
    value = at(0) & 0x07u;
  }
  if (length == 0 || bytes.size() != length) return std::nullopt;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0u) != 0x80) return std::nullopt;
    value = value * 64 + (at(i) & 0x3fu);
  }
  constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return std::nullopt;
  return value;
}

bool naive_is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 1;
    while (length <= 4 && (at + length > text.size() || !naive_character(text.substr(at, length)))) ++length;
    if (length > 4) return false;
    at += length;
  }
  return true;
}

void expect_same(std::string_view bytes) {
  const Utf8Piece piece = utf8_piece(bytes, 0);
  ASSERT_GE(piece.length, 1u);
  ASSERT_LE(piece.length, bytes.size());
  std::optional<char32_t> expected;
  for (std::size_t length = 1; length <= bytes.size() && !expected; ++length) expected = naive_character(bytes.substr(0, length));
  ASSERT_EQ(piece.well_formed, expected.has_value());
  if (expected) {
    ASSERT_EQ(piece.character, *expected);
  }
  ASSERT_EQ(is_utf8(bytes), naive_is_utf8(bytes));
}

TEST(Utf8, AgreesWithANaiveDecoderOnAllShortSequences) {
  const std::array<int, 22> corners{0x00, 0x41, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x91, 0x9f, 0xa0, 0xa1,
                                    0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xf0, 0xf4, 0xf5, 0xff};
  std::string bytes;
  for (int a = 0; a < 256; ++a) {
    bytes = {static_cast<char>(a)};
    ASSERT_NO_FATAL_FAILURE(expect_same(bytes));
    for (int b = 0; b < 256; b += testing::kSanitized ? 9 : 1) {
      bytes = {static_cast<char>(a), static_cast<char>(b)};
      ASSERT_NO_FATAL_FAILURE(expect_same(bytes)) << a << " " << b;
      if (a < 0xc0) continue;
      for (const int c : corners) {
        bytes = {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c)};
        ASSERT_NO_FATAL_FAILURE(expect_same(bytes)) << a << " " << b << " " << c;
        for (const int d : corners) {
          bytes = {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c), static_cast<char>(d)};
          ASSERT_NO_FATAL_FAILURE(expect_same(bytes)) << a << " " << b << " " << c << " " << d;
        }
      }
    }
  }
}

TEST(Utf8, WhatIsMadeOfAnyBytesIsWellFormed) {
  std::mt19937 random(7);
  const std::string pieces[] = {"a",        "\xc3\xa9",         "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\xa0\x80",
                                "\xc0\xaf", "\xf4\x90\x80\x80", "\xff",         "\xe2\x82",         "\x1b[31m",
                                "\n",       "\xc2\x9b",         "\xe2\x80\xae"};
  for (int seed = 0; seed < draws(2000); ++seed) {
    std::string text;
    for (auto n = random() % 8; n > 0; --n) text += random() % 4 == 0 ? std::string(1, static_cast<char>(random())) : pieces[random() % 13];
    const std::string replaced = replace_ill_formed(text), escaped = escape_controls(text);
    ASSERT_TRUE(naive_is_utf8(replaced)) << seed;
    ASSERT_TRUE(naive_is_utf8(escaped)) << seed;
    ASSERT_EQ(is_utf8(text), naive_is_utf8(text)) << seed;
    ASSERT_EQ(is_utf8(text), replaced == text) << seed;
    ASSERT_EQ(escape_controls(escaped), escaped) << seed;
    for (std::size_t at = 0; at < escaped.size();) {
      const Utf8Piece piece = utf8_piece(escaped, at);
      ASSERT_TRUE(!is_control_character(piece.character) || piece.character == '\n' || piece.character == '\t') << seed;
      at += piece.length;
    }
  }
}

TEST(Utf8, ReplacesEachBrokenCharacterOnce) {
  EXPECT_EQ(replace_ill_formed("a\xe2\x82z"), "a\xef\xbf\xbdz");                          // broken off
  EXPECT_EQ(replace_ill_formed("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");                  // overlong: no byte begins anything
  EXPECT_EQ(replace_ill_formed("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate
  EXPECT_EQ(first_ill_formed("ab\xff"), 2u);
  EXPECT_EQ(first_ill_formed("ab\xc3"), 2u);
}

TEST(Utf8, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(escape_controls("\x1b[31mred\x7f"), "\\x1b[31mred\\x7f");
  EXPECT_EQ(escape_controls("\xc2\x9b"
                            "2J"),
            "\\xc2\\x9b"
            "2J");
  EXPECT_EQ(escape_controls("a\tb\nc\rd"), "a\tb\nc\\x0dd");
  EXPECT_EQ(escape_controls_one_line("a\tb\nc"), "a\\x09b\\x0ac");
  EXPECT_EQ(escape_controls("x\xe2\x80\xae"
                            "y"),
            "x\\xe2\\x80\\xaey");  // writes from right to left
  EXPECT_EQ(escape_controls("\xff\xfe caf\xc3\xa9"), "\\xff\\xfe caf\xc3\xa9");
}

}  // namespace
}  // namespace cleave
