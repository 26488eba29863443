// What people write where a statement belongs, and what each of them is told: keys that are none, a `:` that is missing or in the wrong
// place, two statements in one. Knows the keys of statements and no expression.
#pragma once

#include <string_view>
#include <vector>

#include "models/reader/statement.h"

namespace cleave::models {

/// The keys that begin a statement: `for`, `while`, `if`, `elif`, `call`.
[[nodiscard]] bool is_head(std::string_view key);
[[nodiscard]] bool is_reserved(std::string_view word);

/// Finds the keys of one statement, and reports what is wrong with them.
class StatementKeys {
 public:
  explicit StatementKeys(Errors& errors) : errors_(errors) {}

  /// The key that makes the statement: a head, or else the name that is bound. Null after an error.
  const YamlEntry* head_of(const YamlNode& node);
  /// Whether what YAML takes for the name that is bound is none: half an expression, or a misspelt key.
  bool report_target(const YamlEntry& head, const YamlNode& node);
  /// Whether `node` is a statement without its `:`, as `y x * 2`, `a, b top_k(x, 2)`, `while n < 3`. `names`: what it would have bound.
  bool report_missing_colon(const YamlNode& node, std::vector<Name>& names);

 private:
  void fail(Span span, std::string message, DiagnosticKind kind = DiagnosticKind::syntax) { errors_.add(kind, span, std::move(message)); }
  void fail_no_head(const YamlNode& node);
  void fail_second_head(const YamlEntry& first, const YamlEntry& second);
  void fail_else_if(const YamlNode& key);
  void fail_element(const YamlNode& key);

  Errors& errors_;
};

/// The names in `a, b`, and the words of `a b`: what a statement that is wrong otherwise would have bound.
void add_names(std::string_view text, Span span, std::vector<Name>& names);

}  // namespace cleave::models
