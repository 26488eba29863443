#include "partitioner/flow/graph_blocks.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/biconnected_components.hpp>

namespace cleave::planner {

GraphBlocks find_blocks(std::size_t vertices, const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  using Links = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, boost::no_property,
                                      boost::property<boost::edge_index_t, std::size_t>>;
  Links graph(vertices);
  for (std::size_t e = 0; e < edges.size(); ++e) boost::add_edge(edges[e].first, edges[e].second, {e}, graph);
  GraphBlocks blocks{0, std::vector<std::size_t>(edges.size()), std::vector<std::size_t>(vertices)};
  const auto by_edge = boost::make_iterator_property_map(blocks.of_edge.begin(), boost::get(boost::edge_index, graph));
  const auto by_vertex = boost::make_iterator_property_map(blocks.discovered.begin(), boost::get(boost::vertex_index, graph));
  blocks.count = boost::biconnected_components(graph, by_edge, boost::discover_time_map(by_vertex));
  return blocks;
}

}  // namespace cleave::planner
