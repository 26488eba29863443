// The locations of statements in the text of a model: each with its YAML, its expressions, the enclosing statement, and a path of names
// that edits elsewhere do not change. Used by code that edits the text; the reader of programs does not need it. Reports no mistakes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/reader/expression.h"

namespace cleave::models {

struct StatementSite {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  const YamlNode* item = nullptr;       ///< the item of the list of statements
  const YamlNode* list = nullptr;       ///< the list
  const YamlEntry* head = nullptr;      ///< the key that determines the kind of statement; null: an expression alone
  std::size_t outer = kNone;            ///< the statement whose `do`, `then` or `else` contains it
  std::string function;                 ///< the function whose body contains it; empty: the program
  std::string path;                     ///< "program/for.step/scaled"
  std::string name;                     ///< its name in messages: the name that it binds, or "for", or the called function
  std::vector<std::string> bound;       ///< bound names, including a loop's counter
  std::vector<Expression> expressions;  ///< without those of nested statements

  [[nodiscard]] const YamlEntry* key(std::string_view key) const { return item->map() ? item->find(key) : nullptr; }
};

class StatementSites {
 public:
  /// `root` and `source` must outlive this object.
  StatementSites(const YamlNode& root, const Source& source);

  [[nodiscard]] const std::vector<StatementSite>& all() const { return sites_; }
  [[nodiscard]] std::size_t index(const StatementSite& site) const { return static_cast<std::size_t>(&site - sites_.data()); }

  /// The expression in the text that an operation was made from.
  struct Found {
    const StatementSite* site = nullptr;
    const Expression* expression = nullptr;
    const ExpressionNode* node = nullptr;
  };
  /// Nothing where no expression has an operator, call or index at this line and column.
  [[nodiscard]] std::optional<Found> operation_at(const SourceLocation& location) const;
  /// The loop or branch whose head is at `location`; null: none.
  [[nodiscard]] const StatementSite* head_at(const SourceLocation& location) const;

  /// The number of calls of this function in the text; `each(f, group)` counts as several.
  [[nodiscard]] std::size_t calls_of(const std::string& function) const;
  [[nodiscard]] bool calls_function(const StatementSite& site) const;
  /// Whether the statement runs at one place of the program: it is in the program, or in functions that are each called once.
  [[nodiscard]] bool at_one_place(const StatementSite& site) const;
  /// The argument that the only call of a function passes for its parameter `taken`. Nothing if the function has no such parameter or
  /// rebinds it.
  [[nodiscard]] std::optional<Found> argument(const std::string& function, const std::string& taken) const;
  /// Whether `inner` is nested in `outer`, at any depth.
  [[nodiscard]] bool inside(const StatementSite& inner, const StatementSite& outer) const;
  /// The functions called, directly or through others, by statements with a `place`: that `place` pins their operations too.
  [[nodiscard]] std::set<std::string> placed_functions() const;

 private:
  void walk(const YamlNode& list, std::size_t outer, const std::string& function, const std::string& path);
  void add_expressions(StatementSite& site, Errors& ignored) const;
  void index_operations();
  [[nodiscard]] std::set<std::string> callees(const StatementSite& site) const;

  const Source& source_;
  std::map<std::string, std::vector<std::string>> functions_;  ///< the parameter names of each function
  std::map<std::pair<int, int>, Found> operations_;            ///< by line and column
  std::vector<StatementSite> sites_;
};

}  // namespace cleave::models
