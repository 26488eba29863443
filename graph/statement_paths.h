// StatementPaths: names of places in the user's program that stay the same when lines are inserted: the enclosing loops, branches,
// functions and scopes, the name that the statement binds, and the operation. `for.step/errors.matmul` is the product in the statement that
// binds `errors` in the loop over `step`; a repeated name becomes `errors#2`. Locks, baselines, profiles and comparisons of plans identify
// statements by these paths.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace cleave {

class StatementPaths {
 public:
  /// Indexes a program, as traced or after passes. Graphs that later passes make of it keep its source locations, so their paths can be
  /// looked up here, too.
  explicit StatementPaths(const Graph& graph);

  /// The path of the operation at `place` (file, line, column and chain of calls); empty if the program has none there.
  [[nodiscard]] std::string of(const SourceLocation& place) const;

  /// Paths of all nodes of the indexed graph, or of one that passes made of it. Each path is unique (`[2]` is the second node at one
  /// place).
  [[nodiscard]] IdVector<NodeId, std::string> of_nodes(const Graph& graph) const;

 private:
  struct SourcePosition {
    std::string_view file;
    int line, column;
    const SourceFrame* via;
    friend bool operator==(const SourcePosition&, const SourcePosition&) = default;
  };
  struct SourcePositionHash {
    std::size_t operator()(const SourcePosition& place) const noexcept;
  };
  /// A container of statements: a loop body, an arm, or a called function.
  struct Scope {
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    std::size_t outer = kNone;      ///< index of the enclosing scope
    std::size_t statement = kNone;  ///< index of the control statement that the scope belongs to; if set, `outer` is unused
    std::string label;
  };
  struct Statement {
    std::size_t scope;
    std::string label;
    int rank = 0;                        ///< precedence of the label's source
    std::size_t same_as = Scope::kNone;  ///< the operation that the label is made of; none: the label is a name
  };
  struct Operation {
    std::size_t statement;
    std::string label;  ///< empty: the statement's path suffices
  };

  friend class StatementWalk;
  static SourcePosition key(const SourceLocation& place) { return {place.file_name(), place.line, place.column, place.via.get()}; }
  [[nodiscard]] std::string of(const Scope& scope) const;
  [[nodiscard]] std::string of_node(const Graph& graph, NodeId node) const;

  std::vector<Scope> scopes_;
  std::vector<Statement> statements_;
  std::vector<Operation> operations_;
  std::unordered_map<SourcePosition, std::size_t, SourcePositionHash> operation_at_;
  std::vector<SourceLocation> kept_;  ///< keeps alive the strings and frames that the keys point to
};

}  // namespace cleave
