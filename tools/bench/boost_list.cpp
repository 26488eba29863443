#include "tools/bench/boost_list.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <vector>

namespace cleave::bench {

std::int64_t min_cut_boost_list(const CutNetwork& network) {
  using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  struct Edge {
    std::int64_t capacity = 0, residual = 0;
    Traits::edge_descriptor reverse;
  };
  using List = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Edge>;
  const auto count = static_cast<std::size_t>(network.vertices());
  List graph(count + 2);
  const auto add = [&](std::size_t from, std::size_t to, std::int64_t capacity, std::int64_t reverse) {
    if (capacity == 0 && reverse == 0) return;
    const auto forward = add_edge(from, to, graph).first, backward = add_edge(to, from, graph).first;
    graph[forward] = {capacity, 0, backward};
    graph[backward] = {reverse, 0, forward};
  };
  for (std::size_t v = 0; v < count; ++v) {
    add(count, v, network.source_capacity[v], 0);
    add(v, count + 1, network.sink_capacity[v], 0);
  }
  for (const CutNetwork::Arc& arc : network.arcs) add(arc.from, arc.to, arc.capacity, arc.reverse_capacity);
  std::vector<Traits::edge_descriptor> predecessor(count + 2);
  std::vector<boost::default_color_type> color(count + 2);
  std::vector<std::int64_t> distance(count + 2);
  const auto index = get(boost::vertex_index, graph);
  return boost::boykov_kolmogorov_max_flow(graph, get(&Edge::capacity, graph), get(&Edge::residual, graph), get(&Edge::reverse, graph),
                                           boost::make_iterator_property_map(predecessor.begin(), index),
                                           boost::make_iterator_property_map(color.begin(), index),
                                           boost::make_iterator_property_map(distance.begin(), index), index, count, count + 1);
}

}  // namespace cleave::bench
