#include "partitioner/apply/simulated_calls.h"

#include <algorithm>

namespace cleave::planner {

SimulatedCalls::SimulatedCalls(const Program& program, SimulatedClocks& clocks, std::vector<Moment>& workers)
    : program_(program), graph_(*program.graph), clocks_(clocks), workers_(workers) {}

void SimulatedCalls::begin(NodeId node, double seconds) {
  Moment begin = clocks_.now(0);
  const bool on_worker = beside(program_, node) == HostFunction::Beside::on_worker;
  const auto sooner = [](const Moment& a, const Moment& b) { return a.seconds < b.seconds; };
  const auto free = std::min_element(workers_.begin(), workers_.end(), sooner);
  if (on_worker) begin = later(begin, *free);
  calls_.push_back({node, clocks_.after(begin, seconds, kHost.index, node)});
  if (!on_worker) return;
  *free = calls_.back().end;
  clocks_.work_on_worker(seconds);
}

void SimulatedCalls::settle(ValueId value) {
  if (calls_.empty()) return;
  const NodeId producer = graph_.values[value].producer;
  end_calls_if([&](const Call& call) { return call.node == producer; });
}

void SimulatedCalls::settle_node(NodeId node) {
  if (calls_.empty()) return;
  if (graph_.purity(node) == Purity::effect) return end_calls_if([](const Call&) { return true; });
  for (const ValueId input : graph_.nodes[node].inputs) settle(input);
}

void SimulatedCalls::settle_decision(NodeId node) {
  if (calls_.empty()) return;
  for (const ValueId input : graph_.nodes[node].inputs) settle(input);
  for (const RegionId region : graph_.nodes[node].regions)
    if (const ValueId predicate = graph_.regions[region].predicate) settle(predicate);
}

void SimulatedCalls::settle_region(RegionId region) {
  if (calls_.empty()) return;
  end_calls_if([&](const Call& call) { return graph_.nodes[call.node].region == region; });
}

/// While the host waits for the end of a call, it counts as busy with it.
template <class Condition>
void SimulatedCalls::end_calls_if(const Condition& concerned) {
  std::erase_if(calls_, [&](const Call& call) {
    if (!concerned(call)) return false;
    clocks_.work_until(call.end, call.node);
    return true;
  });
}

}  // namespace cleave::planner
