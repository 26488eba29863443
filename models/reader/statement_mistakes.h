// Common mistakes in statements, and the message for each: unknown keys, a missing or misplaced `:`, two statements in one. Knows the keys
// of statements and no expression.
#pragma once

#include <string_view>
#include <vector>

#include "models/reader/statement.h"

namespace cleave::models {

/// The keys that begin a statement: `for`, `while`, `if`, `elif`, `call`.
[[nodiscard]] bool is_head(std::string_view key);
[[nodiscard]] bool is_reserved(std::string_view word);

/// Finds the keys of one statement, and reports mistakes in them.
class StatementKeys {
 public:
  explicit StatementKeys(Errors& errors) : errors_(errors) {}

  /// The key that determines the kind of statement: a head, or else the bound name. Null after an error.
  const YamlEntry* head_of(const YamlNode& node);
  /// Whether the key that YAML reads as the bound name is not a name: half an expression, or a misspelled key. Reports it then.
  bool report_target(const YamlEntry& head, const YamlNode& node);
  /// Whether `node` is a statement without its `:`, as `y x * 2`, `a, b top_k(x, 2)`, `while n < 3`. `names`: those that it would have
  /// bound.
  bool report_missing_colon(const YamlNode& node, std::vector<Name>& names);

 private:
  void fail(Span span, std::string message, DiagnosticKind kind = DiagnosticKind::syntax) { errors_.add(kind, span, std::move(message)); }
  void fail_no_head(const YamlNode& node);
  void fail_second_head(const YamlEntry& first, const YamlEntry& second);
  void fail_else_if(const YamlNode& key);
  void fail_element(const YamlNode& key);

  Errors& errors_;
};

/// Adds the names in `a, b`, or the words of `a b`: the names that an otherwise wrong statement would have bound.
void add_names(std::string_view text, Span span, std::vector<Name>& names);

}  // namespace cleave::models
