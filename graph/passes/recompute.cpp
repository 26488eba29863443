#include "graph/passes/recompute.h"

#include <algorithm>
#include <utility>

#include "graph/passes/renumber.h"
#include "graph/passes/sink.h"
#include "graph/vocabulary.h"

namespace cleave {
namespace {

class Recomputer {
 public:
  Recomputer(Graph graph, const std::vector<Repetition>& repetitions, const std::vector<Repetition>& kept_on_host)
      : graph_(std::move(graph)),
        repetitions_(repetitions),
        kept_on_host_(kept_on_host),
        place_(graph_.nodes.size(), 0),
        readers_(graph_.nodes.size()),
        copy_(graph_.nodes.size()),
        front_(graph_.nodes.size()),
        kept_(graph_.values.size()),
        identities_(graph_.nodes.size()) {
    for (const Region& region : graph_.regions)
      for (std::size_t i = 0; i < region.nodes.size(); ++i) place_[region.nodes[i]] = i;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const ValueId input : graph_.nodes[NodeId(i)].inputs) readers_[graph_.values[input].producer].push_back(NodeId(i));
  }

  Graph run(IdVector<NodeId, NodeId>* origin) {
    const std::size_t before = graph_.nodes.size();
    for (const Repetition& kept : kept_on_host_) keep(kept);
    for (const Repetition& repetition : repetitions_) repeat(repetition);
    for (auto repetition = repetitions_.rbegin(); repetition != repetitions_.rend(); ++repetition) insert(*repetition);
    for (auto kept = kept_on_host_.rbegin(); kept != kept_on_host_.rend(); ++kept) insert_kept(*kept);
    for (Region& region : graph_.regions) {
      std::vector<NodeId> nodes;
      for (const NodeId id : region.nodes) {
        if (id.index < front_.size()) nodes.insert(nodes.end(), front_[id].rbegin(), front_[id].rend());
        nodes.push_back(id);
      }
      region.nodes = std::move(nodes);
    }
    if (origin) {
      *origin = {};
      for (const NodeId id : program_order(graph_).nodes) origin->push_back(id.index < before ? id : NodeId());
    }
    return in_program_order(std::move(graph_));
  }

 private:
  /// Makes an operation on the host for each result, which its readers behind the moment read.
  void keep(const Repetition& kept) {
    const std::vector<ValueId> results = graph_.nodes[kept.node].results;
    for (const ValueId result : results) {
      Node node;
      node.op = &op::reshape;
      node.region = graph_.nodes[kept.node].region;
      node.inputs = {result};
      node.attributes.set("shape", graph_.values[result].type.shape);
      node.location = graph_.nodes[kept.node].location;
      node.allowed = graph_.nodes[kept.node].allowed;
      node.pin = {Side::host, std::string(kKeptOnHost)};
      const NodeId id(graph_.nodes.size());
      Value value = graph_.values[result];
      value.producer = id;
      value.result = 0;
      if (value.name.empty()) value.name = graph_.display_name(kept.node);
      kept_[result] = graph_.values.push_back(std::move(value));
      node.results = {kept_[result]};
      graph_.nodes.push_back(std::move(node));
      identities_[kept.node].push_back(id);
    }
    for (const NodeId reader : readers_[kept.node]) {
      if (!behind(reader, kept)) continue;
      for (ValueId& input : graph_.nodes[reader].inputs)
        if (input.index < kept_.size() && kept_[input].valid()) input = kept_[input];
    }
  }

  /// Makes the second operation, and redirects its readers behind the moment.
  void repeat(const Repetition& repetition) {
    Node node = graph_.nodes[repetition.node];
    node.recompute = Recompute::repetition;
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
    if (value.index < kept_.size() && kept_[value].valid() && graph_.values[value].region == region) return kept_[value];
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
    const NodeId first = first_reader(repetition);
    targets_.resize(copy_.size());
    targets_[repetition.node] = first;
    if (first.valid()) front_[first].push_back(copy_[repetition.node]);
  }
  /// Inserts the operations on the host, from where values are sent as soon as they have run: some nodes in front of the first reader, so
  /// that the copy is under way before the value is needed, but not much longer, since its storage is taken from then on.
  void insert_kept(const Repetition& kept) {
    constexpr std::size_t kAhead = 4;
    const NodeId first = first_reader(kept);
    if (!first.valid()) return;
    const std::vector<NodeId>& nodes = graph_.regions[graph_.nodes[kept.node].region].nodes;
    std::size_t at = std::max(place_[kept.moment] + 1, place_[first] - std::min(place_[first], kAhead));
    while (at < place_[first] && graph_.nodes[nodes[at]].kind == NodeKind::merge) ++at;
    std::vector<NodeId>& front = front_[nodes[at]];
    front.insert(front.end(), identities_[kept.node].begin(), identities_[kept.node].end());
  }
  /// The node of its region in front of which the second result must exist.
  [[nodiscard]] NodeId first_reader(const Repetition& repetition) const {
    const RegionId region = graph_.nodes[repetition.node].region;
    NodeId first;
    const auto consider = [&](NodeId at) {
      if (at.valid() && (!first.valid() || place_[at] < place_[first])) first = at;
    };
    for (const NodeId reader : readers_[repetition.node]) {
      if (behind(reader, repetition)) consider(reading_place(graph_, reader, region));
      if (reader.index < copy_.size() && copy_[reader].valid() && graph_.nodes[reader].region == region) consider(target_of(reader));
    }
    return first;
  }
  [[nodiscard]] NodeId target_of(NodeId node) const { return targets_.contains(node) ? targets_[node] : NodeId(); }

  Graph graph_;
  const std::vector<Repetition>& repetitions_;
  const std::vector<Repetition>& kept_on_host_;
  IdVector<NodeId, std::size_t> place_;               ///< in its region
  IdVector<NodeId, std::vector<NodeId>> readers_;     ///< of the operations as they were
  IdVector<NodeId, NodeId> copy_;                     ///< the second operation, if there is one
  IdVector<NodeId, std::vector<NodeId>> front_;       ///< second operations to insert before a node, in reverse order
  IdVector<ValueId, ValueId> kept_;                   ///< the same value on the host, if it is kept there
  IdVector<NodeId, std::vector<NodeId>> identities_;  ///< by operation: those that keep its results on the host
  IdVector<NodeId, NodeId> targets_;                  ///< by operation: the node before which its repetition stands; none: nothing reads it
};

}  // namespace

NodeId reading_place(const Graph& graph, NodeId reader, RegionId region) {
  const Node& node = graph.nodes[reader];
  if (node.region == region) return node.kind == NodeKind::merge ? node.owner : reader;
  return graph.within(node.region, region) ? holder(graph, node.region, region) : NodeId();
}

Graph recompute(Graph graph, const std::vector<Repetition>& repetitions, const std::vector<Repetition>& kept_on_host,
                IdVector<NodeId, NodeId>* origin) {
  return Recomputer(std::move(graph), repetitions, kept_on_host).run(origin);
}

}  // namespace cleave
