#include "graph/passes/recompute.h"

#include <utility>

#include "graph/passes/renumber.h"
#include "graph/passes/sink.h"

namespace cleave {
namespace {

class Recomputer {
 public:
  Recomputer(Graph graph, const std::vector<Repetition>& repetitions)
      : graph_(std::move(graph)),
        repetitions_(repetitions),
        place_(graph_.nodes.size(), 0),
        readers_(graph_.nodes.size()),
        copy_(graph_.nodes.size()),
        front_(graph_.nodes.size()) {
    for (const Region& region : graph_.regions)
      for (std::size_t i = 0; i < region.nodes.size(); ++i) place_[region.nodes[i]] = i;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const ValueId input : graph_.nodes[NodeId(i)].inputs) readers_[graph_.values[input].producer].push_back(NodeId(i));
  }

  Graph run() {
    for (const Repetition& repetition : repetitions_) repeat(repetition);
    for (auto repetition = repetitions_.rbegin(); repetition != repetitions_.rend(); ++repetition) insert(*repetition);
    for (Region& region : graph_.regions) {
      std::vector<NodeId> nodes;
      for (const NodeId id : region.nodes) {
        if (id.index < front_.size()) nodes.insert(nodes.end(), front_[id].rbegin(), front_[id].rend());
        nodes.push_back(id);
      }
      region.nodes = std::move(nodes);
    }
    return in_program_order(std::move(graph_));
  }

 private:
  /// Makes the second operation, and redirects its readers behind the moment.
  void repeat(const Repetition& repetition) {
    Node node = graph_.nodes[repetition.node];
    for (ValueId& input : node.inputs) input = repeated(input, node.region);
    const std::vector<ValueId> first = node.results;
    const NodeId id(graph_.nodes.size());
    for (ValueId& result : node.results) {
      Value value = graph_.values[result];
      value.producer = id;
      result = graph_.values.push_back(std::move(value));
    }
    graph_.nodes.push_back(std::move(node));
    copy_[repetition.node] = id;
    for (const NodeId reader : readers_[repetition.node]) {
      if (!behind(reader, repetition)) continue;
      for (ValueId& input : graph_.nodes[reader].inputs)
        if (graph_.values[input].producer == repetition.node) input = graph_.nodes[id].results[graph_.values[input].result];
    }
  }
  /// The second result of an operand, if it has one and belongs to the same region.
  [[nodiscard]] ValueId repeated(ValueId value, RegionId region) const {
    const NodeId producer = graph_.values[value].producer;
    if (producer.index >= copy_.size() || !copy_[producer].valid() || graph_.values[value].region != region) return value;
    return graph_.nodes[copy_[producer]].results[graph_.values[value].result];
  }
  [[nodiscard]] bool behind(NodeId reader, const Repetition& repetition) const {
    const RegionId region = graph_.nodes[repetition.node].region;
    const NodeId at = reading_place(graph_, reader, region);
    return at.valid() && !yields_to(reader, repetition.node) && place_[at] > place_[repetition.moment];
  }
  /// Whether a loop carries the value of `node` into its next trip: it is read at the end of the region.
  [[nodiscard]] bool yields_to(NodeId reader, NodeId node) const {
    return graph_.nodes[reader].kind == NodeKind::carried && graph_.nodes[reader].region == graph_.nodes[node].region;
  }

  /// Inserts a second operation, whose readers stand already.
  void insert(const Repetition& repetition) {
    const NodeId copy = copy_[repetition.node];
    const RegionId region = graph_.nodes[repetition.node].region;
    NodeId first;
    const auto consider = [&](NodeId at) {
      if (at.valid() && (!first.valid() || place_[at] < place_[first])) first = at;
    };
    for (const NodeId reader : readers_[repetition.node]) {
      if (behind(reader, repetition)) consider(reading_place(graph_, reader, region));
      if (reader.index < copy_.size() && copy_[reader].valid() && graph_.nodes[reader].region == region) consider(target_of(reader));
    }
    targets_.resize(copy_.size());
    targets_[repetition.node] = first;
    if (first.valid()) front_[first].push_back(copy);
  }
  [[nodiscard]] NodeId target_of(NodeId node) const { return targets_.contains(node) ? targets_[node] : NodeId(); }

  Graph graph_;
  const std::vector<Repetition>& repetitions_;
  IdVector<NodeId, std::size_t> place_;            ///< in its region
  IdVector<NodeId, std::vector<NodeId>> readers_;  ///< of the operations as they were
  IdVector<NodeId, NodeId> copy_;                  ///< the second operation, if there is one
  IdVector<NodeId, std::vector<NodeId>> front_;    ///< second operations to insert before a node, in reverse order
  IdVector<NodeId, NodeId> targets_;               ///< by operation: the node before which its repetition stands; none: nothing reads it
};

}  // namespace

NodeId reading_place(const Graph& graph, NodeId reader, RegionId region) {
  const Node& node = graph.nodes[reader];
  if (node.region == region) return node.kind == NodeKind::merge ? node.owner : reader;
  return graph.within(node.region, region) ? holder(graph, node.region, region) : NodeId();
}

Graph recompute(Graph graph, const std::vector<Repetition>& repetitions) {
  if (repetitions.empty()) return graph;
  return Recomputer(std::move(graph), repetitions).run();
}

}  // namespace cleave
