#include "partitioner/apply/schedule_waits.h"

#include <algorithm>

namespace cleave::planner {

std::vector<TransferTime> transfer_times(const Program& program, const Transfers& transfers, const IdVector<ChannelId, double>& seconds,
                                         const LastWaits& waits) {
  std::vector<TransferTime> times(transfers.items.size());
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    const Channel& channel = program.channels[ChannelId(c)];
    const Transfer& transfer = transfers.items[channel.transfer];
    const double once = seconds[ChannelId(c)], waited = waits.reader[ChannelId(c)];
    const double hidden = once - std::min(waited, once);
    times[channel.transfer] = {once * transfer.frequency, waited * transfer.frequency, hidden * transfer.frequency};
  }
  return times;
}

std::vector<Waiting> worst_waits(const Program& program, const CostedProblem& costed, const LastWaits& waits,
                                 std::vector<Waiting> recorded) {
  const Graph& graph = *program.graph;
  // Keep the last record of each loop, in program order of first entry.
  IdVector<NodeId, std::size_t> slot(graph.nodes.size(), 0);
  std::vector<Waiting> kept{recorded[0]};
  for (std::size_t i = 1; i < recorded.size(); ++i) {
    std::size_t& at = slot[recorded[i].loop];
    if (at == 0) {
      at = kept.size();
      kept.emplace_back();
    }
    kept[at] = recorded[i];
  }
  std::vector<double> longest(kept.size(), 0);
  const auto offer = [&](RegionId region, double wait, ChannelId channel, NodeId control) {
    wait *= costed.problem.regions[region.index].frequency;
    if (wait <= 0) return;
    for (; region; region = graph.regions[region].parent) {
      const NodeId owner = graph.regions[region].owner;
      const std::size_t at = owner ? slot[owner] : 0;
      if ((owner && at == 0) || wait <= longest[at]) continue;
      longest[at] = wait;
      kept[at].worst = channel;
      kept[at].worst_control = control;
    }
  };
  for (std::size_t c = 0; c < program.channels.size(); ++c)
    offer(program.channels[ChannelId(c)].region, waits.channel[ChannelId(c)], ChannelId(c), NodeId());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[NodeId(i)];
    const double waited = waits.decision[NodeId(i)];
    if (waited > 0) offer(node.kind == NodeKind::branch ? node.region : node.regions[0], waited, ChannelId(), NodeId(i));
  }
  return kept;
}

}  // namespace cleave::planner
