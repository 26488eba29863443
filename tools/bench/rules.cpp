// The rules choose one side for each class (a group of nodes, partitioner/solver/contract.h). Pins are applied first and never overridden.
#include "tools/bench/rules.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/op.h"
#include "partitioner/flow/min_cut.h"
#include "partitioner/solver/contract.h"

namespace cleave::bench {
namespace {

using Pin = PlacementProblem::Pin;

/// The side of each class; none until a rule has chosen it.
using Sides = std::vector<Side>;

class Placer {
 public:
  Placer(const PlacementProblem& problem, const Contraction& contraction)
      : problem_(problem), contraction_(contraction), sides_(contraction.classes.size(), Side::none) {
    for (std::size_t c = 0; c < sides_.size(); ++c) {
      const Contraction::Class& group = contraction.classes[c];
      if (group.pin == Pin::host) sides_[c] = Side::host;
      if (group.pin == Pin::accelerator || group.keep_accelerator_copy) sides_[c] = Side::accelerator;
    }
  }

  void rest_to(Side side) { std::replace(sides_.begin(), sides_.end(), Side::none, side); }
  void node_wise();
  void per_edge();
  void priority();
  void follow_the_weights();
  [[nodiscard]] Placement placement() const;

 private:
  [[nodiscard]] std::int32_t class_of(std::int32_t node) const { return contraction_.class_of[node]; }
  /// The frequency of the cheapest region in which one transfer can serve the use.
  [[nodiscard]] double least_frequency(const PlacementProblem::Use& use) const;
  void expand(bool upwards, bool host_too);

  const PlacementProblem& problem_;
  const Contraction& contraction_;
  Sides sides_;
};

void Placer::node_wise() {
  std::vector<double> preference(sides_.size());  // seconds that the accelerator saves
  for (std::size_t i = 0; i < problem_.nodes.size(); ++i) {
    const auto& node = problem_.nodes[i];
    preference[contraction_.class_of[i]] += problem_.regions[node.region].frequency * (node.host_seconds - node.accelerator_seconds);
  }
  for (std::size_t c = 0; c < sides_.size(); ++c) {
    if (sides_[c] == Side::none) sides_[c] = preference[c] > 0 ? Side::accelerator : Side::host;
  }
}

double Placer::least_frequency(const PlacementProblem::Use& use) const {
  const std::int32_t top = problem_.values[use.value].region;
  double least = problem_.regions[top].frequency;
  for (std::int32_t r = use.region; r != top; r = problem_.regions[r].parent) least = std::min(least, problem_.regions[r].frequency);
  return least;
}

void Placer::per_edge() {
  double total = 0;
  for (const auto& node : problem_.nodes) {
    total += problem_.regions[node.region].frequency * (node.host_seconds + node.accelerator_seconds);
  }
  for (const auto& use : problem_.uses) {
    const auto& value = problem_.values[use.value];
    total += least_frequency(use) * (value.host_to_accelerator_seconds + value.accelerator_to_host_seconds);
  }
  const auto units = [&](double seconds) { return total > 0 ? std::llround(std::ldexp(seconds / total, 60)) : 0; };
  constexpr std::int64_t kHold = std::int64_t{1} << 61;
  CutNetwork network;
  network.source_capacity.assign(sides_.size(), 0);  // cost on the accelerator
  network.sink_capacity.assign(sides_.size(), 0);    // cost on the host
  for (std::size_t i = 0; i < problem_.nodes.size(); ++i) {
    const auto& node = problem_.nodes[i];
    const double frequency = problem_.regions[node.region].frequency;
    network.sink_capacity[contraction_.class_of[i]] += units(frequency * node.host_seconds);
    network.source_capacity[contraction_.class_of[i]] += units(frequency * node.accelerator_seconds);
  }
  for (std::size_t c = 0; c < sides_.size(); ++c) {
    if (sides_[c] != Side::none) (sides_[c] == Side::host ? network.source_capacity : network.sink_capacity)[c] = kHold;
  }
  for (const auto& use : problem_.uses) {
    const auto& value = problem_.values[use.value];
    const std::int32_t from = class_of(value.node), to = class_of(use.node);
    if (from == to) continue;
    const double frequency = least_frequency(use);
    network.arcs.push_back({from, to, units(frequency * value.host_to_accelerator_seconds),  //
                            units(frequency * value.accelerator_to_host_seconds)});
  }
  const Cut cut = min_cut(network);
  for (std::size_t c = 0; c < sides_.size(); ++c) sides_[c] = cut.source_side[c] ? Side::host : Side::accelerator;
}

/// The accelerator, which has a higher priority than the host, claims every node that it supports. Shape computations then return to the
/// host: nodes, in program order, that have operands, all of which are small values on the host.
void Placer::priority() {
  constexpr double kSmall = 64;  // bytes
  std::vector<std::uint8_t> reads_large(sides_.size());
  std::vector<std::vector<std::int32_t>> consumers(sides_.size());
  const auto small = [&](std::int32_t node) { return problem_.nodes[node].accelerator_bytes <= kSmall; };
  std::vector<std::int32_t> waiting(sides_.size());  // operands that are not yet on the host
  for (const auto& use : problem_.uses) {
    const std::int32_t producer = problem_.values[use.value].node, from = class_of(producer), to = class_of(use.node);
    if (from == to) continue;
    if (!small(producer)) reads_large[to] = 1;
    ++waiting[to];
    consumers[from].push_back(to);
  }
  std::vector<std::int32_t> on_host;
  for (std::size_t c = 0; c < sides_.size(); ++c) {
    if (sides_[c] == Side::host) on_host.push_back(static_cast<std::int32_t>(c));
  }
  for (std::size_t i = 0; i < on_host.size(); ++i) {
    for (const std::int32_t consumer : consumers[on_host[i]]) {
      if (--waiting[consumer] > 0 || sides_[consumer] != Side::none || reads_large[consumer]) continue;
      sides_[consumer] = Side::host;
      on_host.push_back(consumer);
    }
  }
  rest_to(Side::accelerator);
}

/// Propagates the side of each placed node to its neighbors in program order that have none.
void Placer::expand(bool upwards, bool host_too) {
  Side current = Side::none;
  const auto count = static_cast<std::int32_t>(problem_.nodes.size());
  for (std::int32_t i = 0; i < count; ++i) {
    Side& side = sides_[class_of(upwards ? count - 1 - i : i)];
    if (side == Side::none) {
      side = current;
    } else {
      current = side == Side::host && !host_too ? Side::none : side;
    }
  }
}

/// Loads every weight, a node that holds data and computes nothing, to the accelerator, whose memory is assumed to suffice. Readers follow.
void Placer::follow_the_weights() {
  std::vector<std::uint8_t> weight(sides_.size(), 1);
  for (std::size_t i = 0; i < problem_.nodes.size(); ++i) {
    const auto& node = problem_.nodes[i];
    if (node.host_seconds > 0 || node.accelerator_seconds > 0 || node.accelerator_bytes <= 0) weight[contraction_.class_of[i]] = 0;
  }
  for (std::size_t c = 0; c < sides_.size(); ++c) {
    if (weight[c] && sides_[c] == Side::none) sides_[c] = Side::accelerator;
  }
  for (const auto& use : problem_.uses) {
    const std::int32_t from = class_of(problem_.values[use.value].node);
    Side& reader = sides_[class_of(use.node)];
    if (weight[from] && reader == Side::none) reader = sides_[from];
  }
  for (const bool host_too : {false, true}) {
    for (const bool upwards : {false, true}) expand(upwards, host_too);
  }
  rest_to(Side::host);
}

Placement Placer::placement() const {
  std::vector<std::uint8_t> on_host(problem_.nodes.size()), on_accelerator(problem_.nodes.size());
  for (std::size_t i = 0; i < on_host.size(); ++i) {
    on_host[i] = sides_[contraction_.class_of[i]] == Side::host;
    on_accelerator[i] = !on_host[i];
  }
  return evaluate(problem_, std::move(on_host), std::move(on_accelerator));
}

constexpr Rule kRules[] = {Rule::all_accelerator, Rule::all_host, Rule::node_wise,
                           Rule::per_edge,        Rule::priority, Rule::follow_the_weights};

}  // namespace

std::span<const Rule> all_rules() {
  return kRules;
}

std::string_view to_string(Rule rule) {
  switch (rule) {
    case Rule::all_accelerator: return "all on the accelerator";
    case Rule::all_host: return "all on the host";
    case Rule::node_wise: return "node by node";
    case Rule::per_edge: return "cut, paid per edge";
    case Rule::priority: return "greedy by priority";
    case Rule::follow_the_weights: break;
  }
  return "follow the weights";
}

Result<Placement> place_by(Rule rule, const PlacementProblem& problem) {
  if (Status status = verify(problem); !status) return status.error();
  const Result<Contraction> contraction = contract(problem);
  if (!contraction) return contraction.error();
  Placer placer(problem, *contraction);
  switch (rule) {
    case Rule::all_accelerator: placer.rest_to(Side::accelerator); break;
    case Rule::all_host: placer.rest_to(Side::host); break;
    case Rule::node_wise: placer.node_wise(); break;
    case Rule::per_edge: placer.per_edge(); break;
    case Rule::priority: placer.priority(); break;
    case Rule::follow_the_weights: placer.follow_the_weights(); break;
  }
  return placer.placement();
}

}  // namespace cleave::bench
