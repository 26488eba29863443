#include "graph/passes/unused.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "graph/base/diagnostic_help.h"
#include "graph/passes/needed.h"
#include "graph/written.h"

namespace cleave {
namespace {

bool is_leaf(NodeKind kind) {
  return kind == NodeKind::input || kind == NodeKind::parameter;
}

class UnusedNodeFinder {
 public:
  UnusedNodeFinder(const Graph& graph, std::span<const ValueId> also_read)
      : graph_(graph),
        needed_(graph, also_read),
        covered_(graph.nodes.size(), false),
        read_(graph.nodes.size(), false),
        decides_(graph.nodes.size(), false),
        merged_by_(graph.nodes.size(), NodeId()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[NodeId(i)];
      for (const ValueId input : node.inputs) {
        read_[graph.values[input].producer] = true;
        if (is_control(node.kind)) decides_[graph.values[input].producer] = true;
        if (node.kind == NodeKind::merge) merged_by_[graph.values[input].producer] = NodeId(i);
      }
      any_unread_ = any_unread_ || (node.kind == NodeKind::operation && !needed_.node(NodeId(i)));
    }
    for (std::size_t i = 0; any_unread_ && i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[NodeId(i)];
      if (node.kind == NodeKind::operation && needed_.node(NodeId(i))) used_places_.insert(place(node));
    }
    for (const Region& region : graph.regions)
      if (region.predicate.valid())
        read_[graph.values[region.predicate].producer] = decides_[graph.values[region.predicate].producer] = true;
    for (const Output& output : graph.outputs) read_[graph.values[output.value].producer] = true;
    for (const ValueId value : also_read) read_[graph.values[value].producer] = true;
  }

  Diagnostics find() {
    Diagnostics found;
    if (nothing_is_used()) {
      if (graph_.nodes.size() > 0)
        found.add({DiagnosticKind::unused,
                   Severity::warning,
                   "nothing of this program is used: it gives no output and has no effect",
                   graph_.nodes[first_statement()].location,
                   0,
                   {}});
      return found;
    }
    for (const NodeId id : causes()) found.add(unread(id));
    found.sort();
    return found;
  }

 private:
  using SourceLine = std::tuple<std::string_view, int, int>;

  [[nodiscard]] static SourceLine place(const Node& node) { return {node.location.file_name(), node.location.line, node.location.column}; }

  [[nodiscard]] bool nothing_is_used() const {
    bool effect = false;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) effect = effect || graph_.purity(NodeId(i)) == Purity::effect;
    return graph_.outputs.empty() && !effect;
  }

  [[nodiscard]] NodeId first_statement() const {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (!is_leaf(graph_.nodes[NodeId(i)].kind)) return NodeId(i);
    return NodeId(std::size_t{0});
  }

  /// Finds causes in reverse program order, in which readers come before their operands (except for carried values): an unread node that
  /// feeds no cause found before is a cause itself, and is dropped again if it turns out to feed a later one.
  std::vector<NodeId> causes() {
    std::vector<NodeId> found;
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const NodeId id(i);
      const Node& node = graph_.nodes[id];
      if (is_leaf(node.kind) && !read_[id]) found.push_back(id);
      if (node.kind != NodeKind::operation || needed_.node(id) || covered_[id]) continue;
      cover(id);
      if (!decides_[id] && !counts(node) && !used_places_.contains(place(node)) && first_of_branch(id)) found.push_back(id);
    }
    std::erase_if(found, [&](NodeId id) { return covered_[id]; });
    return found;
  }

  /// Marks all unneeded nodes that feed `id`, directly or indirectly.
  void cover(NodeId id) {
    std::vector<NodeId> work{id};
    while (!work.empty()) {
      const NodeId next = work.back();
      work.pop_back();
      for (const ValueId input : graph_.nodes[next].inputs) {
        const NodeId producer = graph_.values[input].producer;
        if (needed_.node(producer) || covered_[producer] || producer == id) continue;
        covered_[producer] = true;
        work.push_back(producer);
      }
    }
  }

  /// A loop's counter is part of its header and may remain unread.
  [[nodiscard]] bool counts(const Node& node) const {
    if (graph_.regions[node.region].kind != RegionKind::for_body) return false;
    const SourceLocation& loop = graph_.nodes[graph_.regions[node.region].owner].location;
    return node.location.line == loop.line && node.location.file_name() == loop.file_name();
  }

  /// If both arms of a branch bind the same unread name, only one of them is reported.
  bool first_of_branch(NodeId id) { return !merged_by_[id].valid() || said_merges_.insert(merged_by_[id]).second; }

  [[nodiscard]] Diagnostic unread(NodeId id) const {
    const Node& node = graph_.nodes[id];
    const std::string& name = graph_.values[node.results[0]].name;
    std::string what = "`" + (name.empty() ? written(graph_, id) : name) + "`";
    if (is_leaf(node.kind))
      what = (node.kind == NodeKind::input ? "the input " : "the parameter ") + what;
    else if (name.empty())
      what = "the result of " + what;
    Diagnostic diagnostic{DiagnosticKind::unused, Severity::warning, what + " is never read", node.location, 0, {}};
    for (const Allowance& allowance : node.allowed) {
      if (allowance.kind != DiagnosticKind::unused) continue;
      diagnostic.severity = Severity::allowed;
      diagnostic.notes.push_back(allowance_note(allowance.reason));
    }
    return diagnostic;
  }

  const Graph& graph_;
  NeededValues needed_;
  IdVector<NodeId, bool> covered_, read_;
  IdVector<NodeId, bool>
      decides_;              ///< conditions and counts: if their loop or branch is unneeded, the statements inside are reported instead
  bool any_unread_ = false;  ///< whether any operation is unread
  std::set<SourceLine> used_places_;    ///< locations of operations that are read; empty if none is unread
  IdVector<NodeId, NodeId> merged_by_;  ///< the merge that reads a node's result, or none
  std::set<NodeId> said_merges_;
};

}  // namespace

Diagnostics find_unused(const Graph& graph, std::span<const ValueId> also_read) {
  return UnusedNodeFinder(graph, also_read).find();
}

}  // namespace cleave
