// NanSearch: finds the operation that made a logged NaN, in a run that checks every operation: it follows each NaN from the operation in
// whose operands there was none. A NaN that a `where` leaves out is not followed further.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "executor/arguments/bindings.h"
#include "executor/memory/fusion.h"
#include "graph/graph.h"

namespace cleave::runtime {

class NanSearch {
 public:
  /// Only operations on which a number logged under `label` depends are looked at.
  NanSearch(const Graph& graph, std::string_view label);

  /// Whether the node, or one of its group, is to be looked at.
  [[nodiscard]] bool looks_at(NodeId node, const FusionGroup* group) const;
  /// Takes note of the NaNs in the results that the node, or its group, has computed from `inputs`. May be called from any thread.
  void look(const BoundAttributes& bound, NodeId node, const FusionGroup* group, std::span<const Array> inputs,
            std::span<const Array> results);
  /// After the run: the Error at the line of the operation that made the logged NaN, or of the input that held it. `logged`: what was
  /// logged, "`loss` is NaN in step 3". Nothing if that is not known.
  [[nodiscard]] std::optional<Error> found(const std::string& logged) const;

 private:
  [[nodiscard]] NodeId origin_of(ValueId value) const;
  [[nodiscard]] NodeId maker(const BoundAttributes& bound, NodeId node, const FusionGroup* group, std::span<const Array> inputs) const;

  const Graph& graph_;
  const std::vector<NodeId> logs_;
  const IdVector<NodeId, bool> suspects_;
  mutable std::mutex mutex_;
  std::map<ValueId, NodeId> origins_;  ///< of values that hold a NaN: the node that made it
};

}  // namespace cleave::runtime
