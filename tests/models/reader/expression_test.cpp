// Precedence and structure of expressions, shown fully parenthesized.
#include "models/reader/expression.h"

#include <gtest/gtest.h>

#include <sstream>

namespace cleave::models {
namespace {

using Type = ExpressionNode::Kind;

std::string shown(const Expression& expression, std::uint32_t index) {
  const ExpressionNode& node = expression.nodes[index];
  const auto part = [&](std::size_t i) { return node.parts[i] == ExpressionNode::kNone ? "" : shown(expression, node.parts[i]); };
  const auto list = [&](std::size_t from, std::string all) {
    for (std::size_t i = from; i < node.parts.size(); ++i) {
      const std::string keyword = node.keywords.empty() || node.keywords[i].text.empty() ? "" : node.keywords[i].text + "=";
      all += (i > from ? ", " : "") + keyword + part(i);
    }
    return all;
  };
  switch (node.kind) {
    case Type::literal: {
      std::ostringstream text;
      if (node.literal.type == Literal::Type::boolean) text << (node.literal.integer ? "true" : "false");
      if (node.literal.type == Literal::Type::integer) text << node.literal.integer;
      if (node.literal.type == Literal::Type::floating) text << node.literal.floating << "f";
      return text.str();
    }
    case Type::text: return "\"" + node.text + "\"";
    case Type::ellipsis:
    case Type::new_axis:
    case Type::name: return node.text;
    case Type::unary: return "(" + node.text + " " + part(0) + ")";
    case Type::binary: return "(" + part(0) + " " + node.text + " " + part(1) + ")";
    case Type::call: return list(0, node.text + "(") + ")";
    case Type::list: return list(0, "[") + "]";
    case Type::index: return list(1, part(0) + "[") + "]";
    case Type::range: return part(0) + ":" + part(1) + ":" + part(2);
  }
  return "?";
}

std::string parsed(const std::string& text) {
  const Source source("y: " + models::quoted(text) + "\n", "t");
  Errors errors(source);
  const auto root = parse_yaml(source, errors);
  const auto expression = parse_expression(root->entries[0].value, errors);
  if (!expression) return "error: " + errors.found().begin()->message;
  return shown(*expression, static_cast<std::uint32_t>(expression->nodes.size() - 1));
}

TEST(Expression, BindsAsPythonDoes) {
  EXPECT_EQ(parsed("a + b * c"), "(a + (b * c))");
  EXPECT_EQ(parsed("a - b - c"), "((a - b) - c)");
  EXPECT_EQ(parsed("a / b // c % d"), "(((a / b) // c) % d)");
  EXPECT_EQ(parsed("a + b << c * d >> 1 < e"), "((((a + b) << (c * d)) >> 1) < e)");
  EXPECT_EQ(parsed("-x ** 2"), "(- (x ** 2))");
  EXPECT_EQ(parsed("x ** -y"), "(x ** (- y))");
  EXPECT_EQ(parsed("x ** y ** z"), "(x ** (y ** z))");
  EXPECT_EQ(parsed("-x * y"), "((- x) * y)");
  EXPECT_EQ(parsed("2 * -x"), "(2 * (- x))");
  EXPECT_EQ(parsed("- -x"), "(- (- x))");
  EXPECT_EQ(parsed("x ** 2 * 3"), "((x ** 2) * 3)");
  EXPECT_EQ(parsed("-x[0] ** 2"), "(- (x[0] ** 2))");
}

TEST(Expression, LogicBindsLooserThanComparison) {
  EXPECT_EQ(parsed("a or b and c"), "(a or (b and c))");
  EXPECT_EQ(parsed("not a == b"), "(not (a == b))");
  EXPECT_EQ(parsed("not a and not b"), "((not a) and (not b))");
  EXPECT_EQ(parsed("not not a"), "(not (not a))");
  EXPECT_EQ(parsed("a + 1 < b * 2 or c"), "(((a + 1) < (b * 2)) or c)");
  EXPECT_EQ(parsed("a < b and c < d"), "((a < b) and (c < d))");
  EXPECT_EQ(parsed("(a < b) == c"), "((a < b) == c)");
}

TEST(Expression, ComparisonsDoNotChain) {
  EXPECT_EQ(parsed("a < b < c"), "error: comparisons do not chain; write `a < b and b < c`");
  EXPECT_EQ(parsed("a == b != c"), "error: comparisons do not chain; write `a < b and b < c`");
}

TEST(Expression, ReadsCallsListsAndTexts) {
  EXPECT_EQ(parsed("sum(x, axis=[0, 1], keepdims=true)"), "sum(x, axis=[0, 1], keepdims=true)");
  EXPECT_EQ(parsed("f()"), "f()");
  EXPECT_EQ(parsed("f(a,)"), "f(a)");
  EXPECT_EQ(parsed("[[1, 2.5], []]"), "[[1, 2.5f], []]");
  EXPECT_EQ(parsed("print(\"a: b # c\", x)"), "print(\"a: b # c\", x)");
  EXPECT_EQ(parsed("(a)"), "a");
}

TEST(Expression, ReadsIndices) {
  EXPECT_EQ(parsed("x[0:10, :]"), "x[0:10:, ::]");
  EXPECT_EQ(parsed("x[-1][1:]"), "x[(- 1)][1::]");
  EXPECT_EQ(parsed("x[::2, n - 1:, :3]"), "x[::2, (n - 1)::, :3:]");
  EXPECT_EQ(parsed("f(x)[0]"), "f(x)[0]");
  EXPECT_EQ(parsed("x[]"), "x[]");
}

TEST(Expression, PartsStandBeforeWhatTheyArePartsOf) {
  const Source source("y: f(a + b[1:2], [c, -d])\n", "t");
  Errors errors(source);
  const auto expression = parse_expression(parse_yaml(source, errors)->entries[0].value, errors);
  ASSERT_TRUE(expression);
  for (std::uint32_t i = 0; i < expression->nodes.size(); ++i) {
    for (const std::uint32_t part : expression->nodes[i].parts) EXPECT_TRUE(part == ExpressionNode::kNone || part < i);
  }
}

TEST(Expression, LongChainsNeedNoDepth) {
  std::string chain = "y: x";
  for (int i = 0; i < 20000; ++i) chain += " + x";
  const Source source(chain, "t");
  Errors errors(source);
  const auto expression = parse_expression(parse_yaml(source, errors)->entries[0].value, errors);
  ASSERT_TRUE(expression);
  EXPECT_EQ(expression->nodes.size(), 40001u);
}

TEST(Expression, DepthIsBounded) {
  for (const std::string unit : {"(", "[", "-", "not ", "f(", "x[", "x ** "}) {
    std::string deep;
    for (int i = 0; i < 5000; ++i) deep += unit;
    EXPECT_EQ(parsed(deep + "x"), "error: nested too deeply (more than 200 levels)") << unit;
  }
}

}  // namespace
}  // namespace cleave::models
