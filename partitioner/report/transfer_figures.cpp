#include "partitioner/report/transfer_figures.h"

#include <algorithm>

#include "graph/base/units.h"
#include "partitioner/apply/deliveries.h"
#include "partitioner/machine/profile_keys.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

Consumer consumer_of(const Graph& graph, NodeId id, UseKind kind) {
  const Node& node = graph.nodes[id];
  if (node.kind == NodeKind::operation) return {kind, id, culprit_name(graph, id), node.location};
  return {kind, id, graph.display_name(id), node.owner ? graph.nodes[node.owner].location : node.location};
}

std::vector<Consumer> consumers_of(const Graph& graph, const Transfer& transfer, std::span<const ValueUse> uses) {
  std::vector<std::pair<NodeId, UseKind>> readers;
  bool output = false;
  for (const ValueUse& use : uses) {
    output = output || use.kind == UseKind::output;
    if (use.kind != UseKind::output) readers.emplace_back(use.node, use.kind);
  }
  std::sort(readers.begin(), readers.end());
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  std::vector<Consumer> consumers;
  for (const auto& [node, kind] : readers) consumers.push_back(consumer_of(graph, node, kind));
  if (!output) return consumers;
  for (const Output& of : graph.outputs)
    if (of.value == transfer.value) consumers.push_back({UseKind::output, {}, of.name, of.location});
  return consumers;
}

std::optional<double> measured(const Plan& plan, const std::optional<ProfileKeys>& keys, const Transfer& transfer) {
  if (!keys) return std::nullopt;
  const std::optional<double> once = keys->find(plan.profile.transfer_seconds, plan.graph->producer(transfer.value).location);
  return once ? std::optional(*once * transfer.frequency) : std::nullopt;
}

std::string phrase(const Consumer& consumer) {
  const std::string place = place_phrase(consumer.location), at = place.empty() ? "" : " " + place;
  switch (consumer.kind) {
    case UseKind::output: return "output `" + consumer.name + "`";
    case UseKind::predicate: return "the condition" + at;
    case UseKind::count: return "the trips" + at;
    case UseKind::operand: break;
    default: return "`" + consumer.name + "` carried" + at;
  }
  return "`" + consumer.name + "`" + at;
}

}  // namespace

std::string_view to_string(UseKind kind) {
  switch (kind) {
    case UseKind::operand: return "operand";
    case UseKind::initial: return "initial";
    case UseKind::yielded: return "yielded";
    case UseKind::arm: return "arm";
    case UseKind::predicate: return "predicate";
    case UseKind::count: return "count";
    case UseKind::output: break;
  }
  return "output";
}

std::vector<TransferFigures> transfer_figures(const Plan& plan) {
  const std::vector<Transfer>& transfers = plan.transfers.items;
  const Deliveries deliveries(*plan.graph, *plan.costed.uses, plan.placement, transfers);
  std::optional<ProfileKeys> keys;
  if (!plan.profile.transfer_seconds.empty()) keys.emplace(*plan.graph);
  const std::vector<CoalescedId> coalesced_transfers = coalesced_by_transfer(plan);
  const std::vector<ChannelId> channels = channels_of(plan);
  std::vector<TransferFigures> figures(transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i)
    figures[i] = {consumers_of(*plan.graph, transfers[i], deliveries.of(i)), plan.transfer_times[i], channels[i], coalesced_transfers[i],
                  measured(plan, keys, transfers[i])};
  return figures;
}

std::vector<CoalescedId> coalesced_by_transfer(const Plan& plan) {
  std::vector<CoalescedId> coalesced_transfers(plan.transfers.items.size());
  for (const Channel& channel : plan.program.channels) coalesced_transfers[channel.transfer] = channel.coalesced;
  return coalesced_transfers;
}

std::vector<ChannelId> channels_of(const Plan& plan) {
  std::vector<ChannelId> channels(plan.transfers.items.size());
  for (std::size_t c = 0; c < plan.program.channels.size(); ++c) channels[plan.program.channels[ChannelId(c)].transfer] = ChannelId(c);
  return channels;
}

std::string consumers_phrase(const std::vector<Consumer>& consumers) {
  constexpr std::size_t kMost = 2;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, consumers.size()); ++i) text += (i > 0 ? ", " : "for ") + phrase(consumers[i]);
  return text + (consumers.size() > kMost ? " and " + std::to_string(consumers.size() - kMost) + " more" : "");
}

std::string seconds_phrase(const Transfer& transfer, const TransferFigures& figures) {
  const std::string predicted = format_seconds(transfer.seconds);
  return figures.measured_seconds ? predicted + ", measured " + format_seconds(*figures.measured_seconds) : predicted;
}

std::string waited_phrase(const TransferTime& time) {
  constexpr double kAsGoodAs = 0.995;
  if (time.hidden_seconds >= kAsGoodAs * time.seconds) return "hidden";
  return "waited for " + format_seconds(time.waited_seconds);
}

std::string coalesced_phrase(CoalescedId coalesced) {
  return coalesced ? "packet " + std::to_string(coalesced.index + std::size_t{1}) : "";
}

}  // namespace cleave::planner
