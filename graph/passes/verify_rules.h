// The parts of verify(): one function a group of rules. Later groups may index by ids that earlier ones have checked.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/passes/verify.h"

namespace cleave::detail {

/// A bounded list of violations, so that a thoroughly broken graph does not give a million sentences.
class Findings {
 public:
  void add(std::string sentence, NodeId node = {}) {
    if (!full()) findings_.push_back({std::move(sentence), node, -1});
  }
  void add_output(std::string sentence, std::size_t output) {
    if (!full()) findings_.push_back({std::move(sentence), {}, static_cast<int>(output)});
  }
  [[nodiscard]] bool none() const { return findings_.empty(); }
  [[nodiscard]] bool full() const { return findings_.size() == kMost; }
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  static constexpr std::size_t kMost = 100;
  std::vector<Finding> findings_;
};

/// How sentences name things: "node 3 (`matmul`)", "value 5 (`w`)", "region 1 (for)". Ids may be out of range.
std::string describe(const Graph& graph, NodeId node);
std::string describe(const Graph& graph, ValueId value);
std::string describe(const Graph& graph, RegionId region);

/// Checks that ids are in range, each value has one producer, each node is in one region, regions form an ordered tree, and control nodes
/// have their regions.
void verify_structure(const Graph& graph, Findings& findings);
/// Checks each node by itself: operands, attributes, types, names, pins. Requires a valid structure.
void verify_nodes(const Graph& graph, Findings& findings);
/// Checks that every operand is defined before its reader runs (dominance). Requires valid nodes, too.
void verify_order(const Graph& graph, Findings& findings);

}  // namespace cleave::detail
