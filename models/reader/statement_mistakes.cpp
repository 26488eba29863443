#include "models/reader/statement_mistakes.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

namespace cleave::models {
namespace {

constexpr std::array<std::string_view, 5> kHeads = {"for", "while", "if", "elif", "call"};
constexpr std::array<std::string_view, 11> kOthers = {"do",   "until",       "expect", "at_most",   "prefetch", "then",
                                                      "else", "probability", "place",  "recompute", "allow"};

bool contains(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> words(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string> found;
  for (std::size_t begin = text.find_first_not_of(kBlanks); begin < text.size(); begin = text.find_first_not_of(kBlanks, begin)) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    found.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return found;
}

/// The end of the names before a value that lacks its `:`, as in `y x * 2`, `a, b top_k(x, 2)`; 0 if the text is not of that form.
std::size_t end_of_target(std::string_view text) {
  const auto word_from = [&](std::size_t begin) {
    std::size_t end = begin;
    while (end < text.size() && is_name(text.substr(begin, end + 1 - begin))) ++end;
    return text.substr(begin, end - begin);
  };
  std::size_t at = 0;
  for (;;) {
    const std::string_view name = word_from(at);
    at += name.size();
    if (name.empty() || at >= text.size() || (is_reserved(name) && !is_head(name))) return 0;
    if (text[at] != ',') break;
    at = std::min(text.find_first_not_of(' ', at + 1), text.size());
  }
  const std::size_t value = text.find_first_not_of(' ', at);
  if (value == at || value == std::string_view::npos) return 0;
  const std::string_view next = word_from(value);
  const bool number = text[value] >= '0' && text[value] <= '9';
  const bool word = !next.empty() && next != "and" && next != "or" && next != "in" && next != "if" && next != "is";
  return number || word || text[value] == '"' || text[value] == '\'' ? at : 0;
}

/// `track[t]`
bool is_element(const YamlNode& key) {
  const std::size_t open = key.text.find('[');
  return key.style == YamlNode::Style::plain && open != std::string::npos && is_name(key.text.substr(0, open)) && key.text.ends_with(']');
}

}  // namespace

bool is_head(std::string_view key) {
  return contains(kHeads, key);
}

bool is_reserved(std::string_view word) {
  return std::find(reserved_words().begin(), reserved_words().end(), word) != reserved_words().end();
}

void add_names(std::string_view text, Span span, std::vector<Name>& names) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::vector<std::string> all = words(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (!std::all_of(all.begin(), all.end(), is_name)) continue;
    for (const std::string& word : all) {
      if (!is_reserved(word)) names.push_back({word, span});
    }
  }
}

const YamlEntry* StatementKeys::head_of(const YamlNode& node) {
  const YamlEntry* head = nullptr;
  for (const YamlEntry& entry : node.entries) {
    if (contains(kOthers, entry.key.text)) continue;
    if (head) return fail_second_head(*head, entry), nullptr;
    head = &entry;
  }
  if (!head) fail_no_head(node);
  return head;
}

void StatementKeys::fail_no_head(const YamlNode& node) {
  if (node.entries.empty()) return fail(node.span, "a statement is expected here");
  const YamlNode& first = node.entries[0].key;
  if (first.text == "else") return fail(first.span, "`else` stands in the item of its `if` or `elif`: write it without `- `");
  fail(first.span, "`" + first.text + "` belongs to a statement, but here is none: `for`, `while`, `if`, `call` or a name");
}

void StatementKeys::fail_second_head(const YamlEntry& first, const YamlEntry& second) {
  const std::string& text = second.key.text;
  if (is_else_if(text)) return fail_else_if(second.key);
  if (is_element(first.key)) return fail_element(first.key);
  const std::string near = errors_.suggest(text, {kOthers.begin(), kOthers.end()});
  if (!is_head(text) && !near.empty()) return fail(second.key.span, "unknown key `" + text + "`" + near, DiagnosticKind::unknown);
  if (!is_head(text) && !is_name(text)) {
    return fail(second.key.span, "YAML cuts the expression here; quote it, or write `" + first.key.text + ": …` on a line of its own");
  }
  fail(second.key.span, "a second statement begins with `" + text + "`; put it on a line of its own, after `- `");
}

void StatementKeys::fail_else_if(const YamlNode& key) {
  fail(key.span, key.text == "elif" ? "`elif` is an item of its own behind the `if`: `- elif: …`, with its `then:`"
                                    : "there is no `" + key.text + "`; write `- elif: …`, an item of its own with its `then:`");
}

void StatementKeys::fail_element(const YamlNode& key) {
  const std::size_t open = key.text.find('[');
  fail(key.span, instead_of_element(key.text.substr(0, open), key.text.substr(open + 1, key.text.size() - open - 2)));
}

bool StatementKeys::report_target(const YamlEntry& head, const YamlNode& node) {
  if (is_else_if(head.key.text)) return fail_else_if(head.key), true;
  if (is_element(head.key)) return fail_element(head.key), true;
  for (const YamlEntry& entry : node.entries) {
    if (&entry == &head || entry.key.text == "place" || entry.key.text == "recompute" || entry.key.text == "allow") continue;
    std::string near = errors_.suggest(head.key.text, {"for", "while", "if"});
    if (near.empty()) near = "; `" + entry.key.text + "` belongs to a `for`, `while` or `if`";
    fail(head.key.span, "unknown key `" + head.key.text + "`" + near, DiagnosticKind::unknown);
    return true;
  }
  if (head.key.style != YamlNode::Style::plain || head.key.text.find_first_of("\"'()[]+-*/%<>=!") == std::string::npos) return false;
  const Source& source = errors_.source();
  const std::size_t colon = source.text().find(':', head.key.span.end);
  const std::string all(source.at({head.key.span.begin, source.line_end(head.key.span.begin)}));
  fail({colon, colon + 1}, "YAML reads `" + head.key.text +
                               "` as a key, because of this `:`; a name stands there, or quote all of it: `- " + models::quoted(all) + "`");
  return true;
}

bool StatementKeys::report_missing_colon(const YamlNode& node, std::vector<Name>& names) {
  if (!node.scalar() || node.style != YamlNode::Style::plain || node.many_lines) return false;
  const std::size_t end = end_of_target(node.text);
  if (end == 0) return false;
  const Span target{node.span.begin, node.span.begin + end};
  const std::string key = node.text.substr(0, end);
  const std::string_view all = errors_.source().at({node.span.begin, errors_.source().line_end(node.span.begin)});
  fail(target, missing_colon(key) + "; write `" + key + ":" + std::string(all.substr(end)) + "`");
  if (!is_head(key)) add_names(key, target, names);
  return true;
}

}  // namespace cleave::models
