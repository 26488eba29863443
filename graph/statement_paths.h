// Statement paths: where something stands in the user's program, in words that outlive inserted lines: the loops, branches, functions and
// scopes around it, the name that its statement binds, the operation. `for.step/errors.matmul` is the product in the statement that binds
// `errors` in the loop over `step`; where a name comes again, `errors#2`. Locks, baselines, profiles and comparisons of plans go by these.
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
  /// Of a program, as it was traced or as passes left it. What passes make of it keeps its places: their paths can be looked up here, too.
  explicit StatementPaths(const Graph& graph);

  /// Of what stands at a place, found by file, line, column and chain of calls; empty where nothing of the program does.
  [[nodiscard]] std::string of(const SourceLocation& place) const;

  /// Of all nodes of the graph, or of what passes made of it: each a path of its own (`[2]` is the second at one place).
  [[nodiscard]] IdVector<NodeId, std::string> of_nodes(const Graph& graph) const;

 private:
  struct Place {
    std::string_view file;
    int line, column;
    const SourceFrame* via;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const noexcept;
  };
  /// A loop's body, an arm, a function that was called: what statements stand in.
  struct Scope {
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    std::size_t outer = kNone;      ///< scope
    std::size_t statement = kNone;  ///< a control statement, in place of `outer`
    std::string label;
  };
  struct Statement {
    std::size_t scope;
    std::string label;
    int rank = 0;                        ///< of what the label is made of
    std::size_t same_as = Scope::kNone;  ///< the operation that the label is made of; none: a name is
  };
  struct Operation {
    std::size_t statement;
    std::string label;  ///< empty: the statement says it all
  };

  friend class StatementWalk;
  static Place key(const SourceLocation& place) { return {place.file_name(), place.line, place.column, place.via.get()}; }
  [[nodiscard]] std::string of(const Scope& scope) const;
  [[nodiscard]] std::string of_node(const Graph& graph, NodeId node) const;

  std::vector<Scope> scopes_;
  std::vector<Statement> statements_;
  std::vector<Operation> operations_;
  std::unordered_map<Place, std::size_t, PlaceHash> operation_at_;
  std::vector<SourceLocation> kept_;  ///< so that what the keys point to stays
};

}  // namespace cleave
