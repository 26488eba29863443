// The JSON reader: the events and the tree of a document, and texts that are not JSON.
#include "graph/base/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace cleave {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

/// Records every event; stops the reading at the text "stop".
class Notes final : public JsonEvents {
 public:
  bool scalar(JsonScalar&& s) override {
    switch (s.type) {
      case JsonScalar::Type::null: seen += "null "; break;
      case JsonScalar::Type::boolean: seen += s.integer ? "yes " : "no "; break;
      case JsonScalar::Type::integer: seen += std::to_string(s.integer) + " "; break;
      case JsonScalar::Type::real: seen += "~" + std::to_string(s.number) + " "; break;
      case JsonScalar::Type::text: seen += "'" + s.text + "' "; break;
    }
    return s.text != "stop";
  }
  bool start_object() override { return note("{ "); }
  bool key(std::string&& name) override { return note(name + ": "); }
  bool end_object() override { return note("} "); }
  bool start_list() override { return note("[ "); }
  bool end_list() override { return note("] "); }
  std::string seen;

 private:
  bool note(const std::string& what) {
    seen += what;
    return true;
  }
};

TEST(JsonReader, EventsAreTheDocumentInOrder) {
  std::istringstream in(R"({"a": [1, -2.5, true, null, "\u00e9"], "b": {"": false}, "c": 18446744073709551615})");
  Notes notes;
  ASSERT_TRUE(read_json(in, notes).ok());
  EXPECT_EQ(notes.seen, "{ a: [ 1 ~-2.500000 yes null '\u00e9' ] b: { : no } c: ~18446744073709551616.000000 } ");
}

TEST(JsonReader, AnEventEndsTheReadingWithoutAnError) {
  std::istringstream in(R"([1, "stop", 2, )");
  Notes notes;
  EXPECT_TRUE(read_json(in, notes).ok());
  EXPECT_EQ(notes.seen, "[ 1 'stop' ");
}

TEST(JsonReader, WhatIsNoJsonIsSaidWithItsPlace) {
  for (const char* text : {"", "[1,", "[1,\n x]", "{1: 2}", "01", "\"\xff\"", "[1] 2", "1e999"}) {
    std::istringstream in(text);
    Notes notes;
    const Status status = read_json(in, notes);
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_FALSE(status.error().message.starts_with("[")) << status.error().message;
    EXPECT_FALSE(JsonTree::parse(text)) << text;
  }
  std::istringstream in("[1,\n x]");
  Notes notes;
  EXPECT_THAT(read_json(in, notes).error().message, StartsWith("parse error at line 2, column 2"));
}

TEST(JsonReader, ATreeKnowsItsChildren) {
  const auto tree = JsonTree::parse(R"({"a": [1, [2, 3], {}], "b": "x", "a": 4})");
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->items[0].kind, JsonTree::Kind::object);
  EXPECT_EQ(tree->items[0].count, 3U);
  EXPECT_THAT(tree->children(0), ElementsAre(1, 7, 8));
  EXPECT_EQ(tree->items[1].key, "a");
  EXPECT_THAT(tree->children(1), ElementsAre(2, 3, 6));
  EXPECT_THAT(tree->children(3), ElementsAre(4, 5));
  EXPECT_EQ(tree->items[5].scalar.integer, 3);
  EXPECT_EQ(tree->items[5].key, "");
  EXPECT_TRUE(tree->children(6).empty());
  EXPECT_TRUE(tree->children(2).empty());
  EXPECT_EQ(tree->find(0, "b"), 7U);
  EXPECT_EQ(tree->find(0, "a"), 8U) << "the last one counts";
  EXPECT_FALSE(tree->find(0, "c"));
  EXPECT_FALSE(tree->find(1, ""));
}

TEST(JsonReader, ATreeKnowsItsLines) {
  const auto tree = JsonTree::parse("{\n \"a\": 1,\n \"b\": [\n  2\n , \"x\\n\", true,\n\n null], \"c\":\n {}\n}\n");
  ASSERT_TRUE(tree);
  std::vector<int> lines;
  for (const JsonTree::Item& item : tree->items) lines.push_back(item.line);
  EXPECT_THAT(lines, ElementsAre(1, 2, 3, 4, 5, 5, 7, 8));
  const Result<JsonTree> broken = JsonTree::read("[1,\n x]");
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(broken.error().message, StartsWith("parse error at line 2, column 2"));
}

TEST(JsonReader, DepthIsNoMatter) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  const auto tree = JsonTree::parse(deep);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->items.size(), 1'000'000U);
  EXPECT_EQ(tree->items[0].end, 1'000'000U);
}

}  // namespace
}  // namespace cleave
