#include <map>
#include <utility>

#include "partitioner/report/picture_labels.h"

namespace cleave::planner {
namespace {

/// By node, whether a node on the accelerator depends on it in the same iteration.
std::vector<bool> find_leading_back(const Picture& picture) {
  std::vector<std::vector<std::size_t>> sources(picture.nodes.size());
  for (const PictureEdge& edge : picture.edges)
    if (!edge.backwards) sources[edge.to].push_back(edge.from);
  std::vector<bool> found(picture.nodes.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < picture.nodes.size(); ++i)
    if (picture.nodes[i].device == kAccelerator) open.push_back(i);
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    for (const std::size_t source : sources[node]) {
      if (found[source]) continue;
      found[source] = true;
      open.push_back(source);
    }
  }
  return found;
}

/// Whether an edge leads from a loop on the accelerator to host work whose results do not go back there in the same iteration. The layout
/// ignores such an edge: it need not put this work below the accelerator's, which would leave the host's box empty above it.
bool stands_beside(const Plan& plan, const Picture& picture, const PictureEdge& edge, const std::vector<bool>& leads_back) {
  if (edge.kind != PictureEdge::Kind::send || picture.nodes[edge.to].device != kHost) return false;
  return plan.transfers.items[edge.transfers[0]].region != Graph::kRoot && !leads_back[edge.to];
}

}  // namespace

PictureOrder picture_order(const Plan& plan, const Picture& picture) {
  const Graph& graph = *plan.graph;
  const std::vector<bool> leads_back = find_leading_back(picture);
  PictureOrder order;
  for (const PictureEdge& edge : picture.edges) order.ignored.push_back(edge.backwards || stands_beside(plan, picture, edge, leads_back));
  std::map<std::pair<RegionId, DeviceId>, std::size_t> first;  // by region and device where it is decided: the first node
  for (std::size_t i = 0; i < picture.nodes.size(); ++i)
    if (const PictureNode& node = picture.nodes[i]; !node.nodes.empty())
      first.try_emplace({graph.nodes[node.nodes[0]].region, node.device}, i);
  for (std::size_t i = 0; i < picture.nodes.size(); ++i) {
    if (picture.nodes[i].kind != PictureNode::Kind::one || !is_control(graph.nodes[picture.nodes[i].nodes[0]].kind)) continue;
    for (const RegionId region : graph.nodes[picture.nodes[i].nodes[0]].regions)
      if (const auto at = first.find({region, picture.nodes[i].device}); at != first.end()) order.below.emplace_back(i, at->second);
  }
  return order;
}

}  // namespace cleave::planner
