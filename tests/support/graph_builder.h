// Builds a Graph by hand, directly by the rules of graph.h and without the Tracer: for tests of code that verifies and compares graphs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace cleave::test {

class GraphBuilder {
 public:
  Graph graph;

  NodeId node(NodeKind kind, RegionId region, std::vector<ValueId> inputs, const std::vector<TensorType>& results,
              Attributes attributes = {}) {
    const NodeId id = graph.nodes.push_back({});
    Node& added = graph.nodes[id];
    added.kind = kind;
    added.region = region;
    added.inputs = std::move(inputs);
    added.attributes = std::move(attributes);
    for (const TensorType& type : results) {
      const auto index = static_cast<std::uint32_t>(added.results.size());
      added.results.push_back(graph.values.push_back({type, id, index, region, ""}));
    }
    graph.regions[region].nodes.push_back(id);
    return id;
  }

  ValueId result(NodeId id, std::size_t index = 0) const { return graph.nodes[id].results[index]; }

  ValueId input(std::string name, TensorType type) {
    const ValueId value = result(node(NodeKind::input, Graph::kRoot, {}, {std::move(type)}));
    graph.values[value].name = std::move(name);
    return value;
  }

  ValueId call(const char* op, RegionId region, std::vector<ValueId> inputs, TensorType type, Attributes attributes = {}) {
    const NodeId id = node(NodeKind::operation, region, std::move(inputs), {std::move(type)}, std::move(attributes));
    graph.nodes[id].op = find_op(op);
    return result(id);
  }

  RegionId region(RegionKind kind, RegionId parent, NodeId owner) {
    const RegionId id = graph.regions.push_back({kind, parent, owner, {}, {}});
    graph.nodes[owner].regions.push_back(id);
    return id;
  }

  NodeId for_loop(RegionId in, std::int64_t count) {
    const NodeId id = node(NodeKind::for_loop, in, {}, {}, {{"count", count}});
    graph.nodes[id].expected = static_cast<double>(count);
    region(RegionKind::for_body, in, id);
    return id;
  }

  NodeId while_loop(RegionId in, double trips) {
    const NodeId id = node(NodeKind::while_loop, in, {}, {});
    graph.nodes[id].expected = trips;
    const RegionId condition = region(RegionKind::while_condition, in, id);
    region(RegionKind::while_body, condition, id);
    return id;
  }

  NodeId branch(RegionId in, ValueId predicate, double probability) {
    const NodeId id = node(NodeKind::branch, in, {predicate}, {});
    graph.nodes[id].expected = probability;
    region(RegionKind::then_arm, in, id);
    region(RegionKind::else_arm, in, id);
    return id;
  }

  /// The yielded value is set later, by `graph.nodes[…].inputs[1] = …`.
  NodeId carried(NodeId loop, ValueId initial) {
    const TensorType type = graph.values[initial].type;
    const NodeId id = node(NodeKind::carried, graph.nodes[loop].regions[0], {initial, initial}, {type, type});
    graph.nodes[id].owner = loop;
    graph.values[result(id, 1)].region = graph.nodes[loop].region;
    return id;
  }

  NodeId merge(NodeId branch, ValueId then_value, ValueId else_value) {
    const NodeId id = node(NodeKind::merge, graph.nodes[branch].region, {then_value, else_value}, {graph.values[then_value].type});
    graph.nodes[id].owner = branch;
    return id;
  }

  RegionId inside(NodeId control, std::size_t index = 0) const { return graph.nodes[control].regions[index]; }
};

}  // namespace cleave::test
