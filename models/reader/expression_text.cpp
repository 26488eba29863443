// Extracts the text of an expression from a YAML scalar, with the location of every byte.
#include "models/reader/lexer.h"

namespace cleave::models {
namespace {

/// Removes the quotes and escapes of a scalar.
bool unquote(const YamlNode& node, ExpressionText& result, Errors& errors) {
  const std::string_view raw = errors.source().at(node.span);
  const char quote = raw.front();
  std::size_t i = 1;
  for (; i + 1 < raw.size(); ++i) {
    char c = raw[i];
    result.places.push_back(node.span.begin + i);
    if (quote == '\'' && c == '\'') ++i;
    if (quote == '"' && c == '\\') {
      c = raw[++i];
      if (c != '"' && c != '\\' && c != '/' && c != ' ' && c != '\n') {
        const std::size_t at = node.span.begin + i - 1;
        errors.add(DiagnosticKind::syntax, {at, at + 2},
                   "an escape that expressions do not have; in double quotes YAML needs `\\\\` for a backslash, or use single quotes");
        return false;
      }
    }
    result.text += c;
  }
  result.places.push_back(node.span.begin + i);
  return true;
}

void find_cut(const YamlNode& node, ExpressionText& result, const Source& source) {
  const std::size_t end = source.line_end(node.span.end);
  const std::size_t next = source.text().find_first_not_of(" \t", node.span.end);
  if (next >= end || std::string_view("#:,[]{}").find(source.text()[next]) == std::string_view::npos) return;
  result.cut = source.text()[next];
  result.cut_at = next;
  result.whole = source.at({node.span.begin, end});
}

}  // namespace

std::optional<ExpressionText> expression_text(const YamlNode& node, std::string_view what, Errors& errors) {
  const std::string expected = std::string(what) + " is expected here";
  switch (node.kind) {
    case YamlNode::Kind::broken: return std::nullopt;
    case YamlNode::Kind::missing: errors.add(DiagnosticKind::syntax, node.span, expected + ", but nothing is written"); return std::nullopt;
    case YamlNode::Kind::scalar: break;
    case YamlNode::Kind::list:
    case YamlNode::Kind::map: {
      const Source& source = errors.source();
      const Span line{node.span.begin, std::max(node.span.end, source.line_end(node.span.begin))};
      const std::string form = node.list() ? "a list" : "a map";
      errors.add(DiagnosticKind::syntax, node.flow ? line : node.span,
                 expected + "; YAML reads " + form + (node.flow ? ", unless it is quoted: `" + quoted(source.at(line)) + "`" : ""));
      return std::nullopt;
    }
  }
  ExpressionText result;
  result.begin = node.span.begin;
  if (node.style == YamlNode::Style::block) {  // the text is on the lines below `|` or `>`
    result.begin = std::min(errors.source().text().find('\n', node.span.begin) + 1, node.span.end);
    result.text = errors.source().at({result.begin, node.span.end});
  } else if (node.style == YamlNode::Style::plain) {
    result.text = errors.source().at(node.span);
    find_cut(node, result, errors.source());
  } else if (!unquote(node, result, errors)) {
    return std::nullopt;
  }
  if (trimmed(result.text).empty()) {
    errors.add(DiagnosticKind::syntax, node.span, expected);
    return std::nullopt;
  }
  return result;
}

bool report_cut(const ExpressionText& text, Errors& errors) {
  if (text.cut == '\0') return false;
  const std::string what = text.cut == '#' ? "begins a comment of YAML" : "ends the text for YAML";
  errors.add(DiagnosticKind::syntax, {text.cut_at, text.cut_at + 1},
             "`" + std::string(1, text.cut) + "` " + what + " in the middle of the expression; quote it: `" + quoted(text.whole) + "`");
  return true;
}

}  // namespace cleave::models
