// The JSON writer against a library's: byte for byte the same documents, numbers that read back, and text of arbitrary bytes.
#include "graph/base/json_writer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "graph/base/utf8.h"
#include "tests/support/seeds.h"

namespace cleave {
namespace {

using Json = nlohmann::ordered_json;

void write(JsonWriter& json, const Json& item) {
  if (item.is_object()) {
    json.object([&] {
      for (const auto& [name, inner] : item.items()) {
        json.key(name);
        write(json, inner);
      }
    });
  } else if (item.is_array()) {
    json.list([&] {
      for (const Json& inner : item) write(json, inner);
    });
  } else if (item.is_string()) {
    json.value(item.get<std::string>());
  } else if (item.is_boolean()) {
    json.value(item.get<bool>());
  } else if (item.is_number_float()) {
    json.value(item.get<double>());
  } else if (item.is_number_unsigned()) {
    json.value(item.get<std::uint64_t>());
  } else if (item.is_number()) {
    json.value(item.get<std::int64_t>());
  } else {
    json.value(nullptr);
  }
}

std::string written(const Json& item, int indent) {
  std::string text;
  JsonWriter json(text, indent);
  write(json, item);
  return text;
}

Json random_document(std::mt19937& random, int depth) {
  const auto kind = random() % (depth > 0 ? 8 : 6);
  if (kind == 0) return nullptr;
  if (kind == 1) return random() % 2 == 0;
  if (kind == 2) return static_cast<std::int64_t>(random()) - (1LL << 31);
  if (kind == 3) return std::uint64_t{random()} << 32;
  if (kind == 4) return std::ldexp(static_cast<double>(random() % 4096) - 2048, static_cast<int>(random() % 12));
  if (kind == 5) {
    std::string text;
    for (auto n = random() % 5; n > 0; --n) text += std::string_view("a\"\\\b\t\n\f\r\x01\x1f/\x7f")[random() % 12];
    return text + (random() % 2 == 0 ? "\xe2\x82\xac" : "");
  }
  Json inner = kind == 6 ? Json::object() : Json::array();
  for (auto n = random() % 4; n > 0; --n) {
    Json item = random_document(random, depth - 1);
    if (kind == 6)
      inner["k" + std::to_string(n)] = std::move(item);
    else
      inner.push_back(std::move(item));
  }
  return inner;
}

TEST(JsonWriter, WritesDocumentsAsALibraryDoes) {
  std::mt19937 random(1);
  for (int seed = 0; seed < draws(500); ++seed) {
    const Json document = random_document(random, 4);
    ASSERT_EQ(written(document, JsonWriter::kCompact), document.dump()) << seed;
    ASSERT_EQ(written(document, 2), document.dump(2)) << seed;
  }
}

TEST(JsonWriter, NumbersKeepAllDigitsInTheFewest) {
  std::mt19937_64 random(2);
  for (int i = 0; i < draws(200'000); ++i) {
    const auto number = std::bit_cast<double>(random());
    const std::string text = written(number, -1);
    if (!std::isfinite(number)) {
      ASSERT_EQ(text, "null");
      continue;
    }
    ASSERT_EQ(Json::parse(text).get<double>(), number);
    const std::string library = Json(number).dump();
    ASSERT_LE(text.size(), library.size()) << text << " " << library;
    if (text.size() == library.size()) {
      ASSERT_EQ(text.find_first_of("e."), library.find_first_of("e."));
    }
  }
  for (const double number : {0.0, -0.0, 1.0, -1.5, 0.1, 1e-4, 1e-5, 123456.789, 1e14, 1e15, 1e16, 123456789012345.0, 1234567890123456.0,
                              1e100, 5e-324, std::numeric_limits<double>::max(), std::numeric_limits<double>::min()})
    EXPECT_EQ(written(number, -1), Json(number).dump());
}

TEST(JsonWriter, FloatsHaveTheDigitsOfFloats) {
  std::string text;
  JsonWriter json(text);
  json.list([&] {
    json.value(0.1f);
    json.value(16777216.0f);
    json.value(std::numeric_limits<float>::infinity());
    json.value(std::optional<std::int64_t>());
    json.value(std::optional(7));
  });
  EXPECT_EQ(text, "[0.1,16777216.0,null,null,7]");
}

TEST(JsonWriter, TextOfAnyBytesIsJson) {
  std::mt19937 random(3);
  for (int seed = 0; seed < draws(1000); ++seed) {
    std::string bytes;
    for (auto n = random() % 12; n > 0; --n) bytes += static_cast<char>(random());
    std::string text;
    JsonWriter json(text);
    json.object([&] { json.field(bytes, bytes); });
    const Json document = Json::parse(text, nullptr, false);
    ASSERT_FALSE(document.is_discarded()) << seed;
    ASSERT_EQ(document.begin().key(), replace_ill_formed(bytes));
    ASSERT_EQ(document.begin().value(), replace_ill_formed(bytes));
  }
}

TEST(JsonWriter, ContainersAreListsAndObjects) {
  std::string text;
  JsonWriter json(text, 2);
  json.object([&] {
    json.field("sizes", std::vector<std::int64_t>{4, 2});
    json.field("times", std::map<std::string, double>{{"a", 0.5}});
    json.list("none", [] {});
    json.object("nothing", [] {});
  });
  EXPECT_EQ(text, Json({{"sizes", {4, 2}}, {"times", {{"a", 0.5}}}, {"none", Json::array()}, {"nothing", Json::object()}}).dump(2));
}

}  // namespace
}  // namespace cleave
