// Names in binding positions: on the left of `:`, in `takes`, `returns` and `outputs`.
#include <algorithm>

#include "models/reader/expression.h"

namespace cleave::models {
namespace {

bool check_name(const Token& token, Errors& errors) {
  const auto& reserved = reserved_words();
  if (token.kind == Token::Kind::name && std::find(reserved.begin(), reserved.end(), token.text) == reserved.end()) return true;
  const std::string text(errors.source().at(token.span));
  if (token.kind == Token::Kind::end)
    errors.add(DiagnosticKind::syntax, token.span, "a name is expected here");
  else if (token.kind == Token::Kind::name)
    errors.add(DiagnosticKind::syntax, token.span, "`" + text + "` is reserved and cannot be a name");
  else
    errors.add(DiagnosticKind::syntax, token.span, "`" + text + "` is no name");
  return false;
}

/// Reads `0.1`, `-1`, `true` from `tokens[at]` on; `at` moves behind it. Nothing, with an error, if there is no such value.
std::optional<Literal> read_default(const std::vector<Token>& tokens, std::size_t& at, Errors& errors) {
  const bool minus = tokens[at].is("-");
  if (minus) ++at;
  const Token& token = tokens[at];
  if (!token.is_end()) ++at;
  if (!minus && (token.is("true") || token.is("false"))) return Literal{Literal::Type::boolean, token.is("true"), 0};
  if (token.kind == Token::Kind::integer && !token.two_to_63)
    return Literal{Literal::Type::integer, minus ? -token.integer : token.integer, 0};
  if (token.kind == Token::Kind::floating) return Literal{Literal::Type::floating, 0, minus ? -token.floating : token.floating};
  errors.add(DiagnosticKind::syntax, token.span, "a number, `true` or `false` stands behind the `=` of a parameter");
  return std::nullopt;
}

bool append_parameters(const YamlNode& node, bool defaults, std::vector<Parameter>& parameters, Errors& errors) {
  const auto text = expression_text(node, "a name", errors);
  if (!text) return false;
  const auto tokens = lex(*text, errors);
  if (!tokens) return false;
  for (std::size_t at = 0;;) {
    const Token& token = (*tokens)[at];
    if (!check_name(token, errors)) return false;
    parameters.push_back({{token.text, token.span}, {}});
    ++at;
    if (defaults && (*tokens)[at].is("=")) {
      parameters.back().otherwise = read_default(*tokens, ++at, errors);
      if (!parameters.back().otherwise) return false;
    }
    const Token& separator = (*tokens)[at++];
    if (separator.kind == Token::Kind::end) return true;
    if (!separator.is(",")) {
      errors.add(DiagnosticKind::syntax, separator.span, "names are separated by `,`");
      return false;
    }
  }
}

bool append_names(const YamlNode& node, std::vector<Name>& names, Errors& errors) {
  std::vector<Parameter> parameters;
  if (!append_parameters(node, false, parameters, errors)) return false;
  for (Parameter& parameter : parameters) names.push_back(std::move(parameter.name));
  return true;
}

}  // namespace

bool check_distinct(const std::vector<Name>& names, Errors& errors) {
  std::vector<Name> sorted = names;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Name& a, const Name& b) { return a.text < b.text; });
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end(), [](const Name& a, const Name& b) { return a.text == b.text; });
  if (twice == sorted.end()) return true;
  errors.add(DiagnosticKind::value, std::next(twice)->span, "`" + twice->text + "` stands here twice",
             {errors.note(twice->span, "first here")});
  return false;
}

std::optional<Name> declared_name(const YamlNode& key, Errors& errors) {
  const auto names = parse_names(key, errors);
  if (!names) return std::nullopt;
  if (names->size() != 1) {
    errors.add(DiagnosticKind::syntax, key.span, "one name is expected here");
  } else if (is_member(names->front().text)) {
    errors.add(DiagnosticKind::syntax, key.span, "a name has no `.`; members of a group stand under its name");
  } else {
    return names->front();
  }
  return std::nullopt;
}

const ExpressionNode& callee(const Expression& expression, const ExpressionNode& call) {
  if (call.text != kEach || call.parts.empty()) return call;
  const ExpressionNode& first = expression.nodes[call.parts.front()];
  return first.kind == ExpressionNode::Kind::name ? first : call;
}

Expression name_expression(const Name& name) {
  Expression expression;
  ExpressionNode& node = expression.nodes.emplace_back();
  node.kind = ExpressionNode::Kind::name;
  node.text = name.text;
  node.span = expression.span = name.span;
  return expression;
}

const std::vector<std::string>& reserved_words() {
  static const std::vector<std::string> words = {"for",   "do",    "until", "while", "expect",  "if",       "probability", "then",
                                                 "else",  "place", "allow", "call",  "at_most", "prefetch", "recompute",   "true",
                                                 "false", "and",   "or",    "not",   "in",      "elif"};
  return words;
}

std::optional<std::vector<Name>> parse_names(const YamlNode& node, Errors& errors) {
  std::vector<Name> names;
  if (!append_names(node, names, errors) || !check_distinct(names, errors)) return std::nullopt;
  return names;
}

std::optional<std::vector<Name>> parse_name_list(const YamlNode& node, Errors& errors) {
  if (!node.list()) return parse_names(node, errors);
  std::vector<Name> names;
  for (const YamlNode& item : node.items) {
    if (!append_names(item, names, errors)) return std::nullopt;
  }
  if (!check_distinct(names, errors)) return std::nullopt;
  return names;
}

std::optional<std::vector<Parameter>> parse_parameters(const YamlNode& node, Errors& errors) {
  std::vector<Parameter> parameters;
  const auto append = [&](const YamlNode& item) { return append_parameters(item, true, parameters, errors); };
  if (node.list() ? !std::all_of(node.items.begin(), node.items.end(), append) : !append(node)) return std::nullopt;
  std::vector<Name> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  if (!check_distinct(names, errors)) return std::nullopt;
  return parameters;
}

}  // namespace cleave::models
