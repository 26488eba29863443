#include "models/reader/statement.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "models/reader/statement_mistakes.h"
#include "models/reader/synonyms.h"

namespace cleave::models {
namespace {

using Type = Statement::Kind;

/// A kind of statement, and the keys allowed beside its head.
struct Form {
  std::string_view head;  ///< empty: a bound name
  Type kind;
  std::vector<std::string> keys;
};

const std::vector<Form>& forms() {
  static const std::vector<Form> table = {
      {"for", Type::for_loop, {"do", "until", "expect", "at_most", "prefetch", "place", "recompute", "allow"}},
      {"while", Type::while_loop, {"do", "expect", "at_most", "place", "recompute", "allow"}},
      {"if", Type::branch, {"then", "else", "probability", "place", "recompute", "allow"}},
      {"elif", Type::branch, {"then", "else", "probability", "place", "recompute", "allow"}},
      {"call", Type::effect, {"place", "recompute", "allow"}},
      {"", Type::bind, {"place", "recompute", "allow"}},
  };
  return table;
}

class StatementParser {
 public:
  explicit StatementParser(Errors& errors) : errors_(errors), keys_(errors) {}

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
    if (keys_.report_missing_colon(node, statement.names)) {
      statement.kind = Type::bind;
      return statement;
    }
    statement.expression = parse_expression(node, errors_, "a statement");
    const std::size_t end = statement.expression ? std::string::npos : node.text.find_first_of("=:+-*/([");
    if (end == std::string::npos || (node.text[end] != ':' && node.text.find('=', end) == std::string::npos)) return statement;
    statement.kind = Type::bind;  // `x = 1` and `"x: 1"` are mistakes, but later statements may rely on `x`
    add_names(std::string_view(node.text).substr(0, end), node.span, statement.names);
    return statement;
  }

  /// A placeholder for a statement that was reported: binds the names that it would have bound to unknown values, so that their uses are
  /// not reported.
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

  std::optional<Statement> from_map(const YamlNode& node) {
    const YamlEntry* head = keys_.head_of(node);
    if (!head) return std::nullopt;
    const auto matches = [&](const Form& form) { return form.head == head->key.text || form.head.empty(); };
    const Form& form = *std::find_if(forms().begin(), forms().end(), matches);
    if (form.kind == Type::bind && keys_.report_target(*head, node)) return std::nullopt;
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

  void read_head(const YamlEntry& head, Statement& statement) {
    if (statement.kind == Type::for_loop) {
      auto parsed = parse_for_head(head.value, errors_);
      if (!parsed) return;
      for (const Name& name : parsed->names)
        if (is_reserved(name.text)) return fail(name.span, "`" + name.text + "` is reserved and cannot be a name");
      statement.names = std::move(parsed->names);
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
    } else if (key == "at_most") {
      statement.at_most = parse_expression(entry.value, errors_, "a number of trips");
    } else if (key == "prefetch") {
      statement.prefetch = parse_expression(entry.value, errors_, "a number of trips");
    } else if (key == "place") {
      read_place(entry.value, statement);
    } else if (key == "recompute") {
      statement.recompute = read_recompute(entry.value, errors_);
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
      fail_place(node);
  }

  void fail_place(const YamlNode& node) {
    if (!node.scalar() || trimmed(node.text).empty()) return fail(node.span, "`place` is `host` or `accelerator`", DiagnosticKind::unknown);
    const std::string meant(place_meant(node.text));
    const std::string near = meant.empty() ? errors_.suggest(node.text, {"host", "accelerator"}) : "; did you mean `" + meant + "`?";
    fail(node.span, "`" + node.text + "` is no place" + (near.empty() ? "; `place` is `host` or `accelerator`" : near),
         DiagnosticKind::unknown);
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
        const std::string why =
            kind ? "` is an error and cannot be allowed" : "` is no kind of diagnostic" + errors_.suggest(key.text, kinds);
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
  StatementKeys keys_;
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

Recompute read_recompute(const YamlNode& node, Errors& errors) {
  if (node.broken()) return Recompute::automatic;
  if (node.text == "true") return Recompute::always;
  if (node.text == "false") return Recompute::never;
  const bool word = node.scalar() && !trimmed(node.text).empty();
  errors.add(DiagnosticKind::unknown, node.span,
             word ? "`" + node.text + "` is neither `true` nor `false`, which `recompute` is" : "`recompute` is `true` or `false`");
  return Recompute::automatic;
}

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
