#include "models/reader/statement.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace cleave::models {
namespace {

using Type = Statement::Kind;

/// The keys that may stand beside the one that makes a statement what it is.
struct Form {
  std::string_view head;  ///< empty: a name that is bound
  Type kind;
  std::vector<std::string> keys;
};

const std::vector<Form>& forms() {
  static const std::vector<Form> table = {
      {"for", Type::for_loop, {"do", "until", "expect", "place", "allow"}},
      {"while", Type::while_loop, {"do", "expect", "place", "allow"}},
      {"if", Type::branch, {"then", "else", "probability", "place", "allow"}},
      {"elif", Type::branch, {"then", "else", "probability", "place", "allow"}},
      {"call", Type::effect, {"place", "allow"}},
      {"", Type::bind, {"place", "allow"}},
  };
  return table;
}

const std::set<std::string_view> kKeys = {"for",         "do",   "until", "while", "expect", "if",  "elif",
                                          "probability", "then", "else",  "place", "allow",  "call"};

bool is_head(std::string_view key) {
  return key == "for" || key == "while" || key == "if" || key == "elif" || key == "call";
}

bool is_reserved(std::string_view word) {
  return std::find(reserved_words().begin(), reserved_words().end(), word) != reserved_words().end();
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

/// The names in `a, b`, and the words of `a b`: what a statement that is wrong otherwise would have bound.
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

/// Where the names end that stand before a value without a `:` between them: `y x * 2`, `a, b top_k(x, 2)`; 0: it is not so.
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

class StatementParser {
 public:
  explicit StatementParser(Errors& errors) : errors_(errors) {}

  std::vector<Statement> list(const YamlNode& node, const std::string& key) {
    std::vector<Statement> statements;
    if (node.broken()) return statements;
    if (!node.list() || (node.flow && node.items.empty())) {
      fail(node.span, "`" + key + "` needs a list of statements, each on a line that begins with `- `");
      return statements;
    }
    for (const YamlNode& item : node.items) {
      auto statement = one(item);
      if (statement && statement->is_else_if) {
        join_else_if(*std::move(statement), statements);
      } else {
        statements.push_back(statement ? *std::move(statement) : wrong(item));
      }
    }
    return statements;
  }

 private:
  void fail(Span span, std::string message, DiagnosticKind kind = DiagnosticKind::syntax) { errors_.add(kind, span, std::move(message)); }

  /// Puts an `elif` into the empty `else` of the `if` or `elif` before it.
  void join_else_if(Statement statement, std::vector<Statement>& statements) {
    Statement* last = !statements.empty() && statements.back().kind == Type::branch ? &statements.back() : nullptr;
    while (last && last->otherwise.size() == 1 && last->otherwise[0].is_else_if) last = &last->otherwise[0];
    if (!last) {
      fail(statement.span, "`elif` follows an `if`, as an item of its own");
    } else if (last->has_else) {
      fail(statement.span, "the `if` before this `elif` ends with its `else`");
    } else {
      last->otherwise.push_back(std::move(statement));
    }
  }

  std::optional<Statement> one(const YamlNode& node) {
    if (node.map()) return from_map(node);
    Statement statement;
    statement.span = node.span;
    if (report_missing_colon(node, statement)) return statement;
    statement.expression = parse_expression(node, errors_, "a statement");
    const std::size_t end = statement.expression ? std::string::npos : node.text.find_first_of("=:+-*/([");
    if (end == std::string::npos || (node.text[end] != ':' && node.text.find('=', end) == std::string::npos)) return statement;
    statement.kind = Type::bind;  // `x = 1` and `"x: 1"` are mistakes, but what comes later may rely on `x`
    add_names(std::string_view(node.text).substr(0, end), node.span, statement.names);
    return statement;
  }

  /// `y x * 2`, `a, b top_k(x, 2)`, `while n < 3`.
  bool report_missing_colon(const YamlNode& node, Statement& statement) {
    if (!node.scalar() || node.style != YamlNode::Style::plain || node.many_lines) return false;
    const std::size_t end = end_of_target(node.text);
    if (end == 0) return false;
    const Span target{node.span.begin, node.span.begin + end};
    const std::string key = node.text.substr(0, end);
    const std::string_view all = errors_.source().at({node.span.begin, errors_.source().line_end(node.span.begin)});
    fail(target, missing_colon(key) + "; write `" + key + ":" + std::string(all.substr(end)) + "`");
    statement.kind = Type::bind;
    if (!is_head(key)) add_names(key, target, statement.names);
    return true;
  }

  /// Stands for a statement that was reported: binds nothing known to the names that it would have bound, so that nobody misses them.
  Statement wrong(const YamlNode& node) {
    Statement statement;
    statement.kind = Type::bind;
    statement.span = node.span;
    for (const YamlEntry& entry : node.entries) {
      add_names(entry.key.text, entry.key.span, statement.names);
      if (entry.value.list() && !entry.value.flow) {
        for (const std::string& name : bound_names(list(entry.value, entry.key.text))) statement.names.push_back({name, entry.key.span});
      }
    }
    return statement;
  }

  /// The key that makes the statement: `for`, `while`, `if`, `call`, or else the name that is bound.
  const YamlEntry* head_of(const YamlNode& node) {
    const YamlEntry* head = nullptr;
    for (const YamlEntry& entry : node.entries) {
      const bool key = kKeys.contains(entry.key.text);
      if (key && !is_head(entry.key.text)) continue;
      if (!head) {
        head = &entry;
      } else {
        second_head(*head, entry, key);
        return nullptr;
      }
    }
    if (!head && !node.entries.empty()) {
      const Name first{node.entries[0].key.text, node.entries[0].key.span};
      if (first.text == "else") return fail(first.span, "`else` stands in the item of its `if` or `elif`: write it without `- `"), nullptr;
      fail(first.span, "`" + first.text + "` belongs to a statement, but here is none: `for`, `while`, `if`, `call` or a name");
    } else if (!head) {
      fail(node.span, "a statement is expected here");
    }
    return head;
  }

  void second_head(const YamlEntry& first, const YamlEntry& second, bool key) {
    const std::string& text = second.key.text;
    if (is_else_if(text)) return fail_else_if(second.key);
    if (is_element(first.key)) return fail_element(first.key);
    const std::string near = suggestion(second.key, {"do", "until", "expect", "then", "else", "probability", "place", "allow"});
    if (!key && !near.empty()) return fail(second.key.span, "unknown key `" + text + "`" + near, DiagnosticKind::unknown);
    if (!key && !is_name(text)) {
      return fail(second.key.span, "YAML cuts the expression here; quote it, or write `" + first.key.text + ": …` on a line of its own");
    }
    fail(second.key.span, "a second statement begins with `" + text + "`; put it on a line of its own, after `- `");
  }

  void fail_else_if(const YamlNode& key) {
    fail(key.span, key.text == "elif" ? "`elif` is an item of its own behind the `if`: `- elif: …`, with its `then:`"
                                      : "there is no `" + key.text + "`; write `- elif: …`, an item of its own with its `then:`");
  }

  /// `track[t]`
  static bool is_element(const YamlNode& key) {
    const std::size_t open = key.text.find('[');
    return key.style == YamlNode::Style::plain && open != std::string::npos && is_name(key.text.substr(0, open)) && key.text.ends_with(']');
  }
  void fail_element(const YamlNode& key) {
    const std::size_t open = key.text.find('[');
    fail(key.span, instead_of_element(key.text.substr(0, open), key.text.substr(open + 1, key.text.size() - open - 2)));
  }

  std::string suggestion(const YamlNode& key, const std::vector<std::string>& candidates) const {
    return errors_.suggest(key.text, candidates);
  }

  std::optional<Statement> from_map(const YamlNode& node) {
    const YamlEntry* head = head_of(node);
    if (!head) return std::nullopt;
    const auto matches = [&](const Form& form) { return form.head == head->key.text || form.head.empty(); };
    const Form& form = *std::find_if(forms().begin(), forms().end(), matches);
    if (form.kind == Type::bind && !check_target(*head, node)) return std::nullopt;
    Statement statement;
    statement.kind = form.kind;
    statement.is_else_if = head->key.text == "elif";
    statement.span = head->key.span;
    read_head(*head, statement);
    for (const YamlEntry& entry : node.entries) {
      if (&entry == head) continue;
      if (std::find(form.keys.begin(), form.keys.end(), entry.key.text) == form.keys.end()) {
        fail(entry.key.span, "`" + entry.key.text + "` does not belong to `" + head->key.text + "`", DiagnosticKind::unknown);
      } else {
        read_key(entry, statement);
      }
    }
    check_body(*head, node, statement);
    return statement;
  }

  /// What YAML takes for a key may be half an expression, or a misspelt key.
  bool check_target(const YamlEntry& head, const YamlNode& node) {
    if (is_else_if(head.key.text)) return fail_else_if(head.key), false;
    if (is_element(head.key)) return fail_element(head.key), false;
    for (const YamlEntry& entry : node.entries) {
      if (&entry == &head || entry.key.text == "place" || entry.key.text == "allow") continue;
      std::string near = suggestion(head.key, {"for", "while", "if"});
      if (near.empty()) near = "; `" + entry.key.text + "` belongs to a `for`, `while` or `if`";
      fail(head.key.span, "unknown key `" + head.key.text + "`" + near, DiagnosticKind::unknown);
      return false;
    }
    if (head.key.style != YamlNode::Style::plain || head.key.text.find_first_of("\"'()[]+-*/%<>=!") == std::string::npos) return true;
    const Source& source = errors_.source();
    const std::size_t colon = source.text().find(':', head.key.span.end);
    const std::string all(source.at({head.key.span.begin, source.line_end(head.key.span.begin)}));
    fail({colon, colon + 1}, "YAML reads `" + head.key.text +
                                 "` as a key, because of this `:`; a name stands there, or quote all of it: `- " + quoted(all) + "`");
    return false;
  }

  void read_head(const YamlEntry& head, Statement& statement) {
    if (statement.kind == Type::for_loop) {
      auto parsed = parse_for_head(head.value, errors_);
      if (!parsed) return;
      if (is_reserved(parsed->counter.text))
        return fail(parsed->counter.span, "`" + parsed->counter.text + "` is reserved and cannot be a name");
      statement.names = {parsed->counter};
      statement.expression = std::move(parsed->count);
      return;
    }
    if (statement.kind == Type::bind && head.value.map()) return read_group(head, statement);
    if (statement.kind == Type::bind) {
      auto names = parse_names(head.key, errors_);
      statement.expression = parse_expression(head.value, errors_);
      if (names) {
        statement.names = *std::move(names);
      } else {
        add_names(head.key.text, head.key.span, statement.names);
        statement.expression.reset();
      }
      return;
    }
    statement.expression = parse_expression(head.value, errors_);
  }

  /// `params: {w1, b: b2}`
  void read_group(const YamlEntry& head, Statement& statement) {
    statement.kind = Type::group;
    const auto name = declared_name(head.key, errors_);
    if (name) statement.names = {*name};
    for (const YamlEntry& entry : head.value.entries) {
      const auto member = declared_name(entry.key, errors_);
      if (!member) continue;
      const bool own_name = entry.value.kind == YamlNode::Kind::missing;
      statement.members.push_back({*member, own_name ? name_expression(*member) : parse_expression(entry.value, errors_)});
    }
    if (head.value.entries.empty()) fail(head.value.span, "a group has members: `" + head.key.text + ": {w, b}`");
  }

  void read_key(const YamlEntry& entry, Statement& statement) {
    const std::string& key = entry.key.text;
    if (key == "do" || key == "then") {
      statement.body = list(at_key(entry), key);
    } else if (key == "else") {
      statement.has_else = true;
      statement.otherwise = list(at_key(entry), key);
    } else if (key == "until") {
      statement.has_until = true;
      statement.until = parse_expression(entry.value, errors_, "a condition");
    } else if (key == "place") {
      read_place(entry.value, statement);
    } else if (key == "allow") {
      read_allow(entry.value, statement);
    } else {
      statement.expected = parse_expression(entry.value, errors_, "a number");
    }
  }

  static YamlNode at_key(const YamlEntry& entry) {
    YamlNode node = entry.value;
    if (node.kind == YamlNode::Kind::missing) node.span = entry.key.span;
    return node;
  }

  void read_place(const YamlNode& node, Statement& statement) {
    if (node.broken()) return;
    if (node.text == "host")
      statement.place = Side::host;
    else if (node.text == "accelerator")
      statement.place = Side::accelerator;
    else
      fail(node.span, "`place` is `host` or `accelerator`" + suggestion(node, {"host", "accelerator"}), DiagnosticKind::unknown);
  }

  void read_allow(const YamlNode& node, Statement& statement) {
    if (node.broken()) return;
    if (!node.map() || node.entries.empty()) return fail(node.span, "`allow` is written `allow: {round-trip: why}`");
    for (const auto& [key, value] : node.entries) {
      const auto kind = parse_diagnostic_kind(key.text);
      if (!kind || info(*kind).always_error) {
        std::vector<std::string> kinds;
        for (const DiagnosticKindInfo& candidate : diagnostic_kinds()) {
          if (!candidate.always_error) kinds.emplace_back(candidate.name);
        }
        const std::string why = kind ? "` is an error and cannot be allowed" : "` is no kind of diagnostic" + suggestion(key, kinds);
        fail(key.span, "`" + key.text + why, kind ? DiagnosticKind::value : DiagnosticKind::unknown);
      } else if (!value.scalar() || trimmed(value.text).empty()) {
        if (!value.broken()) fail(value.span, "`allow` needs the reason: `allow: {" + key.text + ": why}`");
      } else {
        statement.allowed.push_back({*kind, std::string(trimmed(value.text))});
      }
    }
  }

  void check_body(const YamlEntry& head, const YamlNode& node, const Statement& statement) {
    const bool loop = statement.kind == Type::for_loop || statement.kind == Type::while_loop;
    const std::string needed = loop ? "do" : statement.kind == Type::branch ? "then" : "";
    if (!needed.empty() && !node.find(needed)) fail(head.key.span, "`" + head.key.text + "` needs `" + needed + ":` with statements");
  }

  Errors& errors_;
};

void collect_names(const std::vector<Statement>& statements, std::vector<std::string>& names, std::set<std::string>& seen) {
  for (const Statement& statement : statements) {
    if (statement.kind == Type::bind || statement.kind == Type::group) {
      for (const Name& name : statement.names) {
        if (seen.insert(name.text).second) names.push_back(name.text);
      }
    }
    collect_names(statement.body, names, seen);
    collect_names(statement.otherwise, names, seen);
  }
}

}  // namespace

std::vector<Statement> parse_statements(const YamlNode& node, const std::string& key, Errors& errors) {
  return StatementParser(errors).list(node, key);
}

std::vector<std::string> bound_names(const std::vector<Statement>& statements) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  collect_names(statements, names, seen);
  return names;
}

}  // namespace cleave::models
