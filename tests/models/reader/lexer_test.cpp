// Tokens, and the conversion of a YAML scalar to text with source positions.
#include "models/reader/lexer.h"

#include <gtest/gtest.h>

namespace cleave::models {
namespace {

struct Lexed {
  std::vector<Token> tokens;
  std::vector<std::string> errors;
};

/// Lexes the scalar `y: …` of a document of one line.
Lexed lex_value(const std::string& value) {
  const Source source("y: " + value + "\n", "test.yaml");
  Errors errors(source);
  Lexed result;
  if (const auto root = parse_yaml(source, errors); root && root->map()) {
    if (const auto text = expression_text(root->entries[0].value, "an expression", errors)) {
      if (auto tokens = lex(*text, errors)) result.tokens = *std::move(tokens);
    }
  }
  for (const Diagnostic& error : errors.found()) result.errors.push_back(to_string(error.location) + " " + error.message);
  return result;
}

std::string spelled(const Lexed& lexed) {
  std::string all;
  for (const Token& token : lexed.tokens) {
    switch (token.kind) {
      case Token::Kind::end: all += "."; break;
      case Token::Kind::integer: all += "i" + std::to_string(token.integer) + " "; break;
      case Token::Kind::floating: all += "f" + std::to_string(token.floating) + " "; break;
      case Token::Kind::name: all += token.text + " "; break;
      case Token::Kind::text: all += "'" + token.text + "' "; break;
      case Token::Kind::symbol: all += "<" + token.text + "> "; break;
    }
  }
  return all;
}

TEST(Lexer, ReadsNumbersAsPythonDoes) {
  EXPECT_EQ(spelled(lex_value("0 12 1.5 .5 5. 1e3 1.5e-2 007")), "i0 i12 f1.500000 f0.500000 f5.000000 f1000.000000 f0.015000 i7 .");
  EXPECT_EQ(spelled(lex_value("9223372036854775807")), "i9223372036854775807 .");
  EXPECT_EQ(spelled(lex_value("1e-400")), "f0.000000 .");
}

TEST(Lexer, TakesTheLongestOperator) {
  EXPECT_EQ(spelled(lex_value("a**b//c<=d==e!=f<<g>>h")), "a <**> b <//> c <<=> d <==> e <!=> f <<<> g <>>> h .");
  EXPECT_EQ(spelled(lex_value("a*-b")), "a <*> <-> b .");
}

TEST(Lexer, KeepsWordsWhole) {
  EXPECT_EQ(spelled(lex_value("not nothing_2 true _")), "not nothing_2 true _ .");
}

TEST(Lexer, UndoesEscapesOfTexts) {
  EXPECT_EQ(spelled(lex_value(R"(f("a\nb\\\"c", 'it\'s'))")), "f <(> 'a\nb\\\"c' <,> 'it's' <)> .");
}

TEST(Lexer, SpansArePlacesInTheFile) {
  const Lexed plain = lex_value("ab + 12");
  ASSERT_EQ(plain.tokens.size(), 4u);
  EXPECT_EQ(plain.tokens[0].span.begin, 3u);
  EXPECT_EQ(plain.tokens[0].span.end, 5u);
  EXPECT_EQ(plain.tokens[2].span.begin, 8u);
  EXPECT_EQ(plain.tokens[3].span.begin, 10u);
}

TEST(Lexer, SpansGoThroughYamlQuotes) {
  const Lexed single = lex_value("'a + ''b'' + c'");  // decoded: a + 'b' + c
  ASSERT_EQ(spelled(single), "a <+> 'b' <+> c .");
  EXPECT_EQ(single.tokens[2].span.begin, 8u);
  EXPECT_EQ(single.tokens[4].span.begin, 16u);
  const Lexed twofold = lex_value(R"("a + \"b\" + c")");
  ASSERT_EQ(spelled(twofold), "a <+> 'b' <+> c .");
  EXPECT_EQ(twofold.tokens[2].span.begin, 8u);
  EXPECT_EQ(twofold.tokens[4].span.begin, 16u);
}

TEST(Lexer, ColumnsCountBytesBehindOtherScripts) {
  const Lexed lexed = lex_value("f(\"größe\", $)");
  ASSERT_EQ(lexed.errors.size(), 1u);
  EXPECT_EQ(lexed.errors[0], "test.yaml:1:17 `$` has no meaning in an expression");
}

TEST(Lexer, RefusesWithItsPlace) {
  EXPECT_EQ(lex_value("a + 2x").errors, std::vector<std::string>{"test.yaml:1:8 no number; a product is written `2 * x`"});
  EXPECT_EQ(lex_value("a && b").errors, std::vector<std::string>{"test.yaml:1:6 `&&` is no operator; write `and`"});
  EXPECT_EQ(lex_value("f(\"a)").errors, std::vector<std::string>{"test.yaml:1:6 this text is not closed by `\"`"});
  EXPECT_EQ(lex_value("99999999999999999999").errors, std::vector<std::string>{"test.yaml:1:4 this number is too large"});
}

TEST(Lexer, AByteOrderMarkShiftsOnlyTheFirstLine) {
  const Source source("\xEF\xBB\xBFy: $\nz: $\n", "test.yaml");
  EXPECT_EQ(to_string(source.location(3)), "test.yaml:1:7");
  EXPECT_EQ(to_string(source.location(8)), "test.yaml:2:4");
}

TEST(Quoted, SurvivesYaml) {
  EXPECT_EQ(quoted("a: b"), "\"a: b\"");
  EXPECT_EQ(quoted("print(\"a\", x)"), "'print(\"a\", x)'");
  EXPECT_EQ(quoted("f(\"it's\")"), "'f(\"it''s\")'");
  for (const std::string expression : {"a: b", "f(\"x # y\", 'z')", "!x", "- x", "[1, 2]", "\"a\" + b"}) {
    const Source source("y: " + models::quoted(expression) + "\n", "test.yaml");
    Errors errors(source);
    const auto root = parse_yaml(source, errors);
    ASSERT_TRUE(root && root->map()) << expression;
    const auto text = expression_text(root->entries[0].value, "an expression", errors);
    ASSERT_TRUE(text) << expression;
    EXPECT_EQ(text->text, expression);
  }
}

}  // namespace
}  // namespace cleave::models
