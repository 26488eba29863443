// Which values of a program carry a gradient: those through which a loss depends on an asked value.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace cleave::gradients {

/// One call of `gradient`.
struct GradientRequest {
  NodeId call;
  ValueId loss;
  std::vector<ValueId> asked;
};

/// `active[v]`: the loss depends on v by differentiable operations, and v on an asked value, or is one. Values that were recorded later are
/// not active.
class ActiveValues {
 public:
  explicit ActiveValues(IdVector<ValueId, bool> active) : active_(std::move(active)) {}
  [[nodiscard]] bool operator[](ValueId value) const { return active_.contains(value) && active_[value]; }

 private:
  IdVector<ValueId, bool> active_;
};

/// Finds the active values of one call, and the mistakes in it.
class ActivityAnalysis {
 public:
  ActivityAnalysis(const Graph& graph, const GradientRequest& request);

  [[nodiscard]] const ActiveValues& active() const { return active_; }
  /// Adds an error or warning to `found` for each mistake in the call. False if there is an error.
  bool check(Diagnostics& found) const;

 private:
  /// The nodes that the loss depends on, in program order; `by_derivatives`: only where its derivative is not zero.
  [[nodiscard]] std::vector<NodeId> find_needed(bool by_derivatives) const;
  /// The values that depend on one of `seeds`; `through_zero`: also by operations whose derivative is zero.
  [[nodiscard]] IdVector<ValueId, bool> dependents(const std::vector<ValueId>& seeds, bool through_zero, bool through_stop) const;
  [[nodiscard]] bool passes(const Node& node, bool through_zero, bool through_stop) const;
  [[nodiscard]] bool encloses_call(RegionId region) const;
  [[nodiscard]] std::string path_to(NodeId node) const;
  /// Adds an error at a node on the way to the loss, with that way.
  void refuse(NodeId node, std::string message, Diagnostics& found) const;
  bool check_rules(Diagnostics& found) const;
  bool check_asked(ValueId asked, Diagnostics& found) const;
  [[nodiscard]] std::string name_of(ValueId value) const;

  const Graph& graph_;
  const GradientRequest& request_;
  std::vector<NodeId> needed_, differentiated_;
  ActiveValues active_;
};

}  // namespace cleave::gradients
