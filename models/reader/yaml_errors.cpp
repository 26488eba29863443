// Explains yaml-cpp's errors in terms of models: names the expression at fault, and how to write it so that YAML accepts it.
#include <yaml-cpp/exceptions.h>

#include <algorithm>
#include <optional>

#include "models/reader/lexer.h"
#include "models/reader/yaml_tree.h"

namespace cleave::models {
namespace {

/// The value of the first key on the line of `offset`, or the whole line behind its `- `.
Span value_on_line(const Source& source, std::size_t offset) {
  const std::string& text = source.text();
  std::size_t begin = source.line_begin(offset);
  const std::size_t end = source.line_end(offset);
  const auto skip_blanks = [&] {
    while (begin < end && (text[begin] == ' ' || text[begin] == '\t')) ++begin;
  };
  skip_blanks();
  while (begin + 1 < end && text[begin] == '-' && text[begin + 1] == ' ') {
    ++begin;
    skip_blanks();
  }
  const std::size_t colon = text.find(": ", begin);
  if (colon != std::string::npos && colon < std::min(offset, end)) {
    begin = colon + 1;
    skip_blanks();
  }
  return {begin, std::max(begin, end)};
}

bool tab_in_indentation(const Source& source, std::size_t offset) {
  const std::size_t begin = source.line_begin(offset);
  const std::size_t word = std::min(source.text().find_first_not_of(" \t", begin), source.text().size());
  return source.at({begin, word}).find('\t') != std::string_view::npos;
}

/// The last non-blank character before `offset` on its line.
char before(const Source& source, std::size_t offset) {
  const std::string_view head = trimmed(source.at({source.line_begin(offset), offset}));
  return head.empty() ? '\0' : head.back();
}

/// The first word of the line from `begin` to `end`, behind its `- `, if it looks like a key without its `:`.
std::optional<Span> bare_key(const Source& source, std::size_t begin, std::size_t end) {
  const std::string& text = source.text();
  while (begin < end && (text[begin] == ' ' || (text[begin] == '-' && begin + 1 < end && text[begin + 1] == ' '))) ++begin;
  end = std::min(end, text.find(" #", begin));  // a comment
  const std::size_t word_end = std::min(text.find_first_of(" \t", begin), end);
  if (!is_name(source.at({begin, word_end}))) return std::nullopt;
  const std::size_t next = std::min(text.find_first_not_of(" \t", word_end), end);
  const bool value =
      next == end || std::string_view("{[\"'0123456789").find(text[next]) != std::string_view::npos || is_name(source.at({next, next + 1}));
  return value ? std::optional(Span{begin, word_end}) : std::nullopt;
}

/// Finds the line that lacks a `:`, if YAML refuses the `:` at `offset` because of it: `do` above statements, `inputs {x: …}`. YAML reads
/// that line as the start of a text that continues here, so it is the least indented of the lines above that have no `:`.
std::optional<Span> forgotten_colon(const Source& source, std::size_t offset) {
  const std::string& text = source.text();
  const std::size_t here = source.line_begin(offset);
  const std::optional<Span> own = bare_key(source, here, source.line_end(offset));
  if (own && own->end < offset && text[text.find_first_not_of(" \t", own->end)] == '{') return own;
  std::optional<Span> found;
  std::size_t least = std::string::npos;
  for (std::size_t begin = here; begin > 0;) {
    const std::size_t end = source.line_end(begin - 1);
    begin = source.line_begin(begin - 1);
    const std::string_view whole = source.at({begin, end});
    const std::string_view line = trimmed(whole.substr(0, whole.find(" #")));
    if (line.empty() || line.starts_with('#')) continue;
    if (line.find(": ") != std::string_view::npos || line.ends_with(':')) break;
    const std::size_t indentation = text.find_first_not_of(' ', begin) - begin;
    if (indentation >= least) continue;
    least = indentation;
    found = bare_key(source, begin, end);
  }
  return found;
}

/// The end of the list that the `[` at the start of `text` opens; the size of the text if there is none, or if it is not closed.
std::size_t end_of_list(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (depth == 0) return i == 0 ? text.size() : i + 1;
  }
  return text.size();
}

}  // namespace

void explain_yaml_error(const std::string& message, std::size_t offset, Errors& errors) {
  const Source& source = errors.source();
  offset = std::min(offset, source.text().size());
  const Span here{offset, offset + 1};
  const Span value = value_on_line(source, offset);
  const std::string in_quotes = "; quote the expression: `" + quoted(source.at(value)) + "`";
  const auto say = [&](Span span, std::string text) { errors.add(DiagnosticKind::syntax, span, std::move(text)); };
  namespace Yaml = YAML::ErrorMsg;

  if (tab_in_indentation(source, offset)) {
    const std::size_t tab = source.text().find('\t', source.line_begin(offset));
    return say({tab, tab + 1}, "a tab in the indentation; YAML takes blanks only");
  }
  const std::string_view written = source.at(value);
  if (written.starts_with('!')) {
    return say({value.begin, value.begin + 1}, "YAML reads `!` at the start of a value as a tag; write `not`" + in_quotes);
  }
  if (written.starts_with('|') || written.starts_with('>')) {
    return say({value.begin, value.begin + 1},
               "YAML reads `" + std::string(written.substr(0, 1)) + "` as the start of a block of text" + in_quotes);
  }
  if (const std::size_t end = end_of_list(written);
      end < written.size() && source.at({value.begin + end, offset}).find('[') == std::string_view::npos) {
    return say({value.begin, value.begin + end}, "YAML reads `[` at the start of a value as a list of its own" + in_quotes);
  }
  const bool refused = message == Yaml::MAP_VALUE || message == Yaml::END_OF_MAP || message == Yaml::END_OF_SEQ;
  if (const auto key = refused ? forgotten_colon(source, offset) : std::nullopt) return say(*key, missing_colon(source.at(*key)));
  if (message == Yaml::MAP_VALUE) return say(here, "YAML reads `: ` as the end of a key here" + in_quotes);
  if (message == Yaml::BLOCK_ENTRY && before(source, offset) == ':') return say(here, "YAML begins a list with `- ` here" + in_quotes);
  if (message == Yaml::UNKNOWN_ANCHOR) return say(here, "YAML reads `*` at the start of a value as an alias" + in_quotes);
  if (message == Yaml::UNKNOWN_TOKEN) return say(here, "YAML does not let a value begin with this character" + in_quotes);
  if (message == Yaml::EOF_IN_SCALAR) return say(here, "a quoted text is not closed before the file ends");
  if (message == Yaml::END_OF_MAP_FLOW || message == Yaml::END_OF_SEQ_FLOW) {
    return say(here, "the brackets of YAML do not close here; quote what has `[`, `]`, `{`, `}` or `,` of its own");
  }
  if (message == Yaml::END_OF_MAP || message == Yaml::END_OF_SEQ) {
    const char last = before(source, offset);
    if (last == '"' || last == '\'')
      return say(here, "text behind a quoted value; quote all of the expression: `" + quoted(source.at(value)) + "`");
    return say(here, "this line does not fit the indentation of those above");
  }
  return say(here, "malformed YAML: " + message);
}

}  // namespace cleave::models
