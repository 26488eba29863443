// All flow of a leaf goes over the arc to its neighbor. Supply of one that the other can take at once is pushed; the remaining excess is
// lent to the neighbor. Loans are settled in reverse order: the last one made is returned first.
#include "partitioner/flow/leaf_folding.h"

#include <algorithm>

namespace cleave::planner {

LeafFolding::LeafFolding(FlowNetwork& network) : network_(network) {
  std::vector<std::int32_t> degree(network.vertices.size()), leaves;
  const auto live = [&](std::int32_t arc) {
    return network_.arcs[arc].residual > 0 || network_.arcs[network_.arcs[arc].reverse].residual > 0;
  };
  for (std::int32_t v = 0; v < network.count(); ++v) {
    for (std::int32_t a = network.vertices[v].first; a < network.vertices[v + 1].first; ++a) degree[v] += live(a);
    if (degree[v] == 1) leaves.push_back(v);
  }
  std::vector<bool> gone(degree.size());
  while (!leaves.empty()) {
    const std::int32_t v = leaves.back();
    leaves.pop_back();
    if (degree[v] != 1) continue;  // the last two of a tree were leaves of each other
    std::int32_t arc = network.vertices[v].first;
    while (!live(arc) || gone[network.arcs[arc].head]) ++arc;
    gone[v] = true;
    const std::int32_t neighbour = network.arcs[arc].head;
    if (--degree[neighbour] == 1) leaves.push_back(neighbour);
    fold(v, arc);
  }
}

void LeafFolding::fold(std::int32_t vertex, std::int32_t arc) {
  FlowNetwork::Vertex &leaf = network_.vertices[vertex], &neighbour = network_.vertices[network_.arcs[arc].head];
  const std::int32_t sign = leaf.excess > 0 ? 1 : -1;  // supply goes over the arc, need over its reverse
  const std::int32_t way = sign > 0 ? arc : network_.arcs[arc].reverse;
  const std::int64_t now = std::min({sign * leaf.excess, network_.arcs[way].residual, std::max<std::int64_t>(0, -sign * neighbour.excess)});
  network_.push_over(way, now);
  network_.flow += now;
  leaf.excess -= sign * now;
  neighbour.excess += sign * now;
  // If the neighbor still has the opposite sign, the leaf is exhausted or its arc is full: then nothing is left to lend.
  const std::int64_t lent = sign * std::min(sign * leaf.excess, network_.arcs[way].residual);
  neighbour.excess += lent;
  folded_.push_back({vertex, arc, lent, leaf.excess});
  leaf.excess = 0;
}

void LeafFolding::unfold() {
  for (auto leaf = folded_.rbegin(); leaf != folded_.rend(); ++leaf) {
    FlowNetwork::Vertex& neighbour = network_.vertices[network_.arcs[leaf->arc].head];
    const std::int32_t sign = leaf->lent > 0 ? 1 : -1;
    const std::int64_t back = std::min(sign * leaf->lent, std::max<std::int64_t>(0, sign * neighbour.excess));
    const std::int64_t used = sign * leaf->lent - back;
    neighbour.excess -= sign * back;
    network_.push_over(sign > 0 ? leaf->arc : network_.arcs[leaf->arc].reverse, used);
    network_.vertices[leaf->vertex].excess = leaf->excess - sign * used;
  }
  folded_.clear();
}

}  // namespace cleave::planner
