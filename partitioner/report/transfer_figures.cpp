#include "partitioner/report/transfer_figures.h"

#include <algorithm>

#include "graph/base/units.h"
#include "partitioner/apply/deliveries.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

Consumer consumer_of(const Graph& graph, const ValueUse& use) {
  const Node& node = graph.nodes[use.node];
  if (node.kind == NodeKind::operation) return {use.kind, use.node, culprit_name(graph, use.node), node.location};
  return {use.kind, use.node, graph.display_name(use.node), node.owner ? graph.nodes[node.owner].location : node.location};
}

std::vector<Consumer> consumers_of(const Graph& graph, const Transfer& transfer, std::span<const ValueUse> uses) {
  std::vector<Consumer> consumers;
  bool output = false;
  for (const ValueUse& use : uses) {
    if (use.kind == UseKind::output) {
      output = true;
      continue;
    }
    const bool known = std::any_of(consumers.begin(), consumers.end(),
                                   [&](const Consumer& other) { return other.node == use.node && other.kind == use.kind; });
    if (!known) consumers.push_back(consumer_of(graph, use));
  }
  std::stable_sort(consumers.begin(), consumers.end(), [](const Consumer& a, const Consumer& b) { return a.node < b.node; });
  if (!output) return consumers;
  for (const Output& of : graph.outputs)
    if (of.value == transfer.value) consumers.push_back({UseKind::output, {}, of.name, of.location});
  return consumers;
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
  std::vector<TransferFigures> figures(transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i)
    figures[i] = {consumers_of(*plan.graph, transfers[i], deliveries.of(i)), plan.transfer_times[i]};
  return figures;
}

std::string consumers_phrase(const std::vector<Consumer>& consumers) {
  constexpr std::size_t kMost = 2;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, consumers.size()); ++i) text += (i > 0 ? ", " : "for ") + phrase(consumers[i]);
  return text + (consumers.size() > kMost ? " and " + std::to_string(consumers.size() - kMost) + " more" : "");
}

std::string waited_phrase(const Transfer& transfer, const TransferTime& time) {
  constexpr double kAsGoodAs = 0.995;
  if (time.hidden_seconds >= kAsGoodAs * transfer.seconds) return "hidden";
  return "waited for " + format_seconds(time.waited_seconds);
}

}  // namespace cleave::planner
