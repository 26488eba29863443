// RecordedRule: the nodes of a custom gradient as the user recorded them (graph/trace/custom_gradient.h), and their copy at the place where
// a gradient needs them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "graph/gradient/gradient_location.h"
#include "graph/gradient/saved.h"
#include "graph/trace/composer.h"

namespace cleave::gradients {

/// Whether the node is a call of `op`.
[[nodiscard]] bool is_operation(const Node& node, const OpDef& op);

class RecordedRule {
 public:
  /// The rule of the node `call`, a `custom_gradient`; nothing if the graph has none.
  static std::optional<RecordedRule> find(const Graph& graph, NodeId call);

  /// Whether a node is part of the rule, at any depth.
  [[nodiscard]] bool contains(NodeId node) const { return inside_.contains(node); }
  /// All nodes of the rule, at any depth, with `custom_gradient` and `gradient_rule` at its ends.
  [[nodiscard]] const std::set<NodeId>& nodes() const { return inside_; }
  /// The cotangents that the rule gives, by floating operand.
  [[nodiscard]] const std::vector<ValueId>& gives() const { return gives_; }

 private:
  friend class RuleCopy;
  NodeId call_;
  std::vector<NodeId> sequence_;  ///< the nodes between the two ends, in their region
  std::set<NodeId> inside_;
  std::vector<ValueId> gives_;
};

/// Records a copy of a rule where the tracer inserts.
class RuleCopy {
 public:
  RuleCopy(Tracer& tracer, SavedValues& saved, GradientLocations& locations, const RecordedRule& rule);

  /// The copies of `wanted`, values of the rule, given the cotangents of the results. Operations that nothing of it reads are copied if
  /// they have an effect.
  std::vector<Operand> run(const std::vector<ValueId>& wanted, const std::vector<Operand>& cotangents);

 private:
  [[nodiscard]] const Graph& graph() const { return tracer_.graph(); }
  void need(ValueId value);
  void need(NodeId node);
  void need_effects(const std::vector<NodeId>& nodes);
  void read_from_outside();
  Operand copy_of(ValueId value) const;
  std::vector<Operand> copies_of(const std::vector<ValueId>& values) const;
  void copy_nodes(const std::vector<NodeId>& nodes);
  void copy(NodeId id);
  void copy_operation(NodeId id);
  void copy_loop(NodeId id);
  void copy_branch(NodeId id);
  void put(ValueId original, const Operand& copy);
  [[nodiscard]] std::vector<NodeId> owned(NodeId control, RegionId region, NodeKind kind) const;

  Tracer& tracer_;
  SavedValues& saved_;
  GradientLocations& locations_;
  const RecordedRule& rule_;
  std::set<NodeId> needed_;
  std::map<ValueId, Operand> copies_;
};

}  // namespace cleave::gradients
