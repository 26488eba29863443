#include "partitioner/report/depth_text.h"

#include <algorithm>

#include "graph/base/units.h"
#include "graph/base/utf8.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {

std::string depth_phrase(const Channel& channel) {
  return channel.depth > kDefaultDepth ? "room for " + std::to_string(channel.depth) : "";
}

const LimitedDepth* limited_depth(const Plan& plan, ChannelId channel) {
  const std::vector<LimitedDepth>& limited = plan.depths.limited;
  const ChannelId first = travelling_with(plan.program, channel).front();
  const auto found = std::find_if(limited.begin(), limited.end(), [&](const LimitedDepth& each) { return each.channel == first; });
  return found == limited.end() ? nullptr : &*found;
}

std::string limited_depths_phrase(const Plan& plan) {
  if (plan.depths.limited.empty()) return "";
  const LimitedDepth& first = plan.depths.limited[0];
  const Channel& channel = plan.program.channels[first.channel];
  std::string text = "memory has room for " + std::to_string(channel.depth) + " values of " + value_phrase(*plan.graph, channel.value) +
                     " on their way, and " + std::to_string(first.wanted) + " would be needed";
  if (const std::size_t more = plan.depths.limited.size() - 1; more > 0) text += ", and so for " + counted(more, "other value");
  return escape_controls_one_line(text) + ": a run takes " + format_seconds(plan.depths.lost_seconds) + " longer";
}

NodeId burst_beside(const Plan& plan, const Channel& channel) {
  const Graph& graph = *plan.graph;
  const auto outermost = [&](RegionId region) {  // the region of the outermost loop around
    RegionId found;
    for (; region && region != Graph::kRoot; region = graph.regions[region].parent)
      if (graph.nodes[graph.regions[region].owner].kind != NodeKind::branch) found = region;
    return found;
  };
  const RegionId loop = outermost(channel.region);
  NodeId longest;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[NodeId(n)];
    if (node.kind != NodeKind::operation || !plan.placement.on_host[n] || node.region == channel.region) continue;
    if (outermost(node.region) != loop) continue;
    const auto seconds = [&](NodeId id) { return plan.costed.problem.nodes[id.index].host_seconds; };
    if (!longest || seconds(NodeId(n)) > seconds(longest)) longest = NodeId(n);
  }
  return longest;
}

}  // namespace cleave::planner
