// Where statements stand in the text of a model: each with its YAML, its expressions, the statement around it, and a path of names that
// outlives edits elsewhere. For those who edit the text; the reader of programs does not need it. Says nothing about mistakes.
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
  const YamlNode* item = nullptr;       ///< of the list of statements
  const YamlNode* list = nullptr;       ///< the list
  const YamlEntry* head = nullptr;      ///< the key that makes the statement; null: an expression alone
  std::size_t outer = kNone;            ///< the statement whose `do`, `then` or `else` holds it
  std::string function;                 ///< whose body it stands in; empty: the program's
  std::string path;                     ///< "program/for.step/scaled"
  std::string name;                     ///< as a message calls it: what it binds, or "for", or the function that is called
  std::vector<std::string> bound;       ///< names, also a loop's counter
  std::vector<Expression> expressions;  ///< not those of statements inside

  [[nodiscard]] const YamlEntry* key(std::string_view key) const { return item->map() ? item->find(key) : nullptr; }
};

class StatementSites {
 public:
  /// `root` and `source` must outlive it.
  StatementSites(const YamlNode& root, const Source& source);

  [[nodiscard]] const std::vector<StatementSite>& all() const { return sites_; }
  [[nodiscard]] std::size_t index(const StatementSite& site) const { return static_cast<std::size_t>(&site - sites_.data()); }

  /// What an operation was written as.
  struct Found {
    const StatementSite* site = nullptr;
    const Expression* expression = nullptr;
    const ExpressionNode* node = nullptr;
  };
  /// Nothing where no expression has an operator, call or index at this line and column.
  [[nodiscard]] std::optional<Found> operation_at(const SourceLocation& location) const;
  /// The loop or branch whose head stands there; null: none.
  [[nodiscard]] const StatementSite* head_at(const SourceLocation& location) const;

  /// How often a call of this function is written.
  [[nodiscard]] std::size_t calls_of(const std::string& function) const;
  [[nodiscard]] bool calls_function(const StatementSite& site) const;
  /// Whether the statement runs at one place of the program: it stands in the program, or in functions that are called once.
  [[nodiscard]] bool at_one_place(const StatementSite& site) const;
  /// What the only call of a function gives for what it `takes` by this name. Nothing where it takes no such thing, or binds it anew.
  [[nodiscard]] std::optional<Found> argument(const std::string& function, const std::string& taken) const;
  /// Whether `inner` stands inside `outer`, however deep.
  [[nodiscard]] bool inside(const StatementSite& inner, const StatementSite& outer) const;
  /// The functions that statements with a `place` call, themselves or through others: what they pin is pinned there too.
  [[nodiscard]] std::set<std::string> placed_functions() const;

 private:
  void walk(const YamlNode& list, std::size_t outer, const std::string& function, const std::string& path);
  void add_expressions(StatementSite& site, Errors& ignored) const;
  void index_operations();
  [[nodiscard]] std::set<std::string> callees(const StatementSite& site) const;

  const Source& source_;
  std::map<std::string, std::vector<std::string>> functions_;  ///< what each takes
  std::map<std::pair<int, int>, Found> operations_;            ///< by line and column
  std::vector<StatementSite> sites_;
};

}  // namespace cleave::models
