// Builds a FlowNetwork in two passes: the first counts the arcs of each vertex, the second writes each arc at the cursor of its vertex. At
// the end each cursor stands where the next vertex begins, so that finish() shifts them all by one.
#include "partitioner/flow/flow_network.h"

#include <cmath>
#include <limits>

#include "graph/base/check.h"

namespace cleave::planner {

std::vector<bool> FlowNetwork::largest_source_side() const {
  std::vector<bool> source_side(static_cast<std::size_t>(count()), true);
  std::vector<std::int32_t> reached;
  for (std::int32_t v = 0; v < count(); ++v) {
    if (vertices[v].excess >= 0) continue;
    source_side[v] = false;
    reached.push_back(v);
  }
  while (!reached.empty()) {
    const std::int32_t v = reached.back();
    reached.pop_back();
    for (std::int32_t a = vertices[v].first; a < vertices[v + 1].first; ++a) {
      const std::int32_t head = arcs[a].head;
      if (!source_side[head] || arcs[arcs[a].reverse].residual == 0) continue;
      source_side[head] = false;
      reached.push_back(head);
    }
  }
  return source_side;
}

std::int32_t FlowBuilder::add_vertex() {
  if (!filling_) result_.vertices.emplace_back();
  return next_++;
}

void FlowBuilder::add_terminals(std::int32_t vertex, std::int64_t source, std::int64_t sink) {
  if (filling_) return;
  result_.vertices[vertex].excess += source - sink;
  terminals_ += source;
  terminals_ += sink;
}

void FlowBuilder::add_arc(std::int32_t from, std::int32_t to, std::int64_t capacity, std::int64_t reverse) {
  std::int32_t &there = result_.vertices[from].first, &back = result_.vertices[to].first;
  if (filling_) {
    result_.arcs[there] = {to, back, capacity};
    result_.arcs[back] = {from, there, reverse};
  }
  ++there;
  ++back;
}

void FlowBuilder::fill() {
  filling_ = true;
  next_ = 0;
  result_.vertices.emplace_back();
  std::int64_t sum = 0;
  for (FlowNetwork::Vertex& vertex : result_.vertices) {
    const std::int32_t degree = vertex.first;
    CLEAVE_CHECK(sum <= std::numeric_limits<std::int32_t>::max(), "a network of more arcs than can be numbered");
    vertex.first = static_cast<std::int32_t>(sum);
    sum += degree;
  }
  result_.arcs.resize(static_cast<std::size_t>(sum));
}

FlowNetwork FlowBuilder::finish() {
  for (std::size_t v = result_.vertices.size(); v-- > 1;) result_.vertices[v].first = result_.vertices[v - 1].first;
  result_.vertices[0].first = 0;
  // Flow that passes through one vertex straight from source to sink: the smaller of its two capacities, that is half of their sum less the
  // absolute value of their difference.
  for (const FlowNetwork::Vertex& vertex : result_.vertices) terminals_ -= std::abs(vertex.excess);
  result_.flow = static_cast<std::int64_t>(terminals_ / 2);
  return std::move(result_);
}

FlowNetwork flow_network(const CutNetwork& network) {
  FlowBuilder builder;
  for (std::int32_t v = 0; v < network.vertices(); ++v) {
    builder.add_vertex();
    builder.add_terminals(v, network.source_capacity[v], network.sink_capacity[v]);
  }
  for (const CutNetwork::Arc& arc : network.arcs) builder.add_arc(arc.from, arc.to, arc.capacity, arc.reverse_capacity);
  builder.fill();
  for (const CutNetwork::Arc& arc : network.arcs) builder.add_arc(arc.from, arc.to, arc.capacity, arc.reverse_capacity);
  return builder.finish();
}

}  // namespace cleave::planner
