// min_cut_boost(): Boykov-Kolmogorov of Boost.Graph on a compressed sparse row graph, which cross-checks our own solver.
#include <algorithm>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/property_map/vector_property_map.hpp>
#include <vector>

#include "partitioner/flow/min_cut.h"

namespace cleave::planner {
namespace {

/// One direction of an arc, ordered by the vertex it leaves.
struct HalfArc {
  std::int32_t from = 0, to = 0;
  std::int64_t capacity = 0;
  std::size_t pair = 0;  ///< the same for both directions
};

/// All arcs in both directions, the terminals' too (vertices n: source, n + 1: sink).
std::vector<HalfArc> half_arcs(const CutNetwork& network) {
  std::vector<HalfArc> arcs;
  arcs.reserve(2 * network.arcs.size() + 4 * network.source_capacity.size());
  std::size_t pair = 0;
  auto add = [&](std::int32_t from, std::int32_t to, std::int64_t capacity, std::int64_t reverse) {
    if (capacity == 0 && reverse == 0) return;
    arcs.push_back({from, to, capacity, pair});
    arcs.push_back({to, from, reverse, pair++});
  };
  const std::int32_t count = network.vertices();
  for (std::int32_t v = 0; v < count; ++v) add(count, v, network.source_capacity[v], 0);
  for (std::int32_t v = 0; v < count; ++v) add(v, count + 1, network.sink_capacity[v], 0);
  for (const CutNetwork::Arc& arc : network.arcs) add(arc.from, arc.to, arc.capacity, arc.reverse_capacity);
  std::stable_sort(arcs.begin(), arcs.end(), [](const HalfArc& a, const HalfArc& b) { return a.from < b.from; });
  return arcs;
}

}  // namespace

Cut min_cut_boost(const CutNetwork& network) {
  using CsrGraph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property, boost::no_property,
                                                      std::uint32_t, std::uint32_t>;
  using EdgeDescriptor = boost::graph_traits<CsrGraph>::edge_descriptor;
  const std::vector<HalfArc> arcs = half_arcs(network);
  const auto count = static_cast<std::uint32_t>(network.vertices());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  ends.reserve(arcs.size());
  for (const HalfArc& arc : arcs) ends.emplace_back(arc.from, arc.to);
  const CsrGraph graph(boost::edges_are_sorted, ends.begin(), ends.end(), count + 2);

  std::vector<std::int64_t> capacity(arcs.size()), residual(arcs.size());
  std::vector<EdgeDescriptor> edge_at(arcs.size()), reverse(arcs.size());
  const auto edge_index = get(boost::edge_index, graph);
  for (auto [edge, end] = edges(graph); edge != end; ++edge) edge_at[get(edge_index, *edge)] = *edge;
  constexpr std::size_t kUnseen = ~std::size_t{0};
  std::vector<std::size_t> partner(arcs.size() / 2, kUnseen);
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    capacity[i] = arcs[i].capacity;
    std::size_t& other = partner[arcs[i].pair];
    if (other == kUnseen) {
      other = i;
    } else {
      reverse[i] = edge_at[other];
      reverse[other] = edge_at[i];
    }
  }

  std::vector<EdgeDescriptor> predecessor(count + 2);
  std::vector<boost::default_color_type> color(count + 2);
  std::vector<std::int64_t> distance(count + 2);
  const auto vertex_index = get(boost::vertex_index, graph);
  const std::int64_t flow = boost::boykov_kolmogorov_max_flow(
      graph, boost::make_iterator_property_map(capacity.begin(), edge_index),
      boost::make_iterator_property_map(residual.begin(), edge_index), boost::make_iterator_property_map(reverse.begin(), edge_index),
      boost::make_iterator_property_map(predecessor.begin(), vertex_index), boost::make_iterator_property_map(color.begin(), vertex_index),
      boost::make_iterator_property_map(distance.begin(), vertex_index), vertex_index, count, count + 1);

  // Canonical cut: the sink's side is exactly the vertices that can still reach the sink.
  Cut cut{flow, std::vector<bool>(count, true)};
  std::vector<std::uint32_t> reached{count + 1};
  for (std::size_t next = 0; next < reached.size(); ++next) {
    for (auto [edge, end] = out_edges(reached[next], graph); edge != end; ++edge) {
      const std::uint32_t from = target(*edge, graph);
      if (from >= count || !cut.source_side[from] || residual[get(edge_index, reverse[get(edge_index, *edge)])] == 0) continue;
      cut.source_side[from] = false;
      reached.push_back(from);
    }
  }
  return cut;
}

}  // namespace cleave::planner
