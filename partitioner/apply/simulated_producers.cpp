#include "partitioner/apply/simulated_producers.h"

#include <algorithm>

namespace cleave::planner {
namespace {

constexpr int kMostPeriod = 32;  ///< more workers are simulated as if they took turns at this many iterations

}  // namespace

SimulatedProducers::SimulatedProducers(const Program& program, const StepTimes& times, SimulatedClocks& clocks,
                                       std::vector<Moment>& workers)
    : times_(times), clocks_(clocks), workers_(workers), producer_of_(program.graph->nodes.size(), -1) {
  for (const Producer& producer : program.producers) {
    Ahead& loop = loops_.emplace_back();
    loop.producer = &producer;
    for (const NodeId node : producer.nodes) {
      producer_of_[node] = static_cast<std::int32_t>(loops_.size() - 1);
      loop.seconds += times.steps[kHost.index][node];
    }
    loop.ready.resize(static_cast<std::size_t>(producer.ahead));
  }
}

void SimulatedProducers::begin(Ahead& loop, std::size_t trip) {
  if (trip > 0 && static_cast<double>(trip) >= loop.trips) return;
  const auto sooner = [](const Moment& a, const Moment& b) { return a.seconds < b.seconds; };
  const auto free = std::min_element(workers_.begin(), workers_.end(), sooner);
  Moment end = later(clocks_.now(kHost.index), *free);
  for (const NodeId node : loop.producer->nodes)
    if (const double seconds = times_.steps[kHost.index][node]; seconds > 0) end = clocks_.after(end, seconds, kHost.index, node);
  clocks_.work_on_worker(loop.seconds);
  *free = loop.ready[trip % loop.ready.size()] = end;
}

void SimulatedProducers::enter(NodeId loop, double trips) {
  for (Ahead& each : loops_) {
    if (each.producer->loop != loop) continue;
    each.next = 0;
    each.trips = trips;
    for (std::size_t trip = 0; trip < each.ready.size(); ++trip) begin(each, trip);
  }
}

void SimulatedProducers::take(NodeId node) {
  Ahead& loop = loops_[static_cast<std::size_t>(producer_of_[node])];
  const std::vector<NodeId>& nodes = loop.producer->nodes;
  if (node == nodes.front()) {
    double waited = 0;
    clocks_.wait(kHost.index, loop.ready[loop.next % loop.ready.size()], waited);
  }
  if (node != nodes.back()) return;
  begin(loop, loop.next + loop.ready.size());
  ++loop.next;
}

int SimulatedProducers::period(NodeId loop) const {
  return trip_seconds(loop) ? std::clamp(static_cast<int>(workers_.size()), 1, kMostPeriod) : 1;
}

std::optional<double> SimulatedProducers::trip_seconds(NodeId loop) const {
  for (const Ahead& each : loops_)
    if (each.producer->loop == loop) return each.seconds;
  return std::nullopt;
}

}  // namespace cleave::planner
