// See load_graph.h. A move changes the loads of the two devices, and of the producers whose last or first reader elsewhere it is.
#include "partitioner/devices/load_graph.h"

#include <algorithm>
#include <map>
#include <utility>

#include "partitioner/devices/transfer_regions.h"

namespace cleave::planner {

LoadGraph load_graph(const DeviceProblem& problem, const DeviceClasses& classes, const UsesByValue& uses) {
  LoadGraph graph;
  graph.devices = problem.devices();
  graph.equal = problem.equal_accelerators();
  graph.bytes = classes.bytes;
  graph.work.assign(graph.devices, std::vector<double>(classes.size()));
  graph.room.assign(graph.devices, DeviceProblem::kNever);
  for (std::size_t d = 0; d < graph.devices; ++d) {
    if (d > 0 && problem.accelerators[d - 1].memory_bytes > 0) graph.room[d] = problem.accelerators[d - 1].memory_bytes;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      for (const std::int32_t node : classes.nodes[c])
        graph.work[d][c] +=
            problem.base.regions[problem.base.nodes[node].region].frequency * problem.seconds(static_cast<std::size_t>(node), d);
      if (!classes.allowed[c].has(d)) graph.work[d][c] = DeviceProblem::kNever;
    }
  }
  graph.produced.resize(classes.size());
  graph.consumed.resize(classes.size());
  TransferRegions regions(problem.base);
  std::map<std::pair<std::int32_t, std::vector<std::int32_t>>, std::size_t> known;
  for (std::size_t v = 0; v < problem.base.values.size(); ++v) {
    const std::int32_t producer = classes.class_of[problem.base.values[v].node];
    std::vector<std::int32_t> consumers;
    regions.restart(problem.base.values[v].region);
    for (std::int32_t i = uses.start[v]; i < uses.start[v + 1]; ++i) {
      const auto& use = problem.base.uses[uses.order[i]];
      const std::int32_t reader = classes.class_of[use.node];
      if (reader == producer) continue;
      consumers.push_back(reader);
      regions.need(use.region);
    }
    if (consumers.empty()) continue;
    std::sort(consumers.begin(), consumers.end());
    consumers.erase(std::unique(consumers.begin(), consumers.end()), consumers.end());
    const auto [found, added] = known.try_emplace({producer, consumers}, graph.values.size());
    if (added) {
      graph.produced[producer].push_back(static_cast<std::int32_t>(graph.values.size()));
      for (const std::int32_t reader : consumers) graph.consumed[reader].push_back(static_cast<std::int32_t>(graph.values.size()));
      graph.values.push_back({producer, std::move(consumers), std::vector<double>(graph.devices), std::vector<double>(graph.devices)});
    }
    const double executions = regions.executions();
    LoadGraph::GroupValue& value = graph.values[found->second];
    for (std::size_t d = 1; d < graph.devices; ++d) {
      value.in[d] += executions * problem.from_host_seconds(v, d);
      value.out[d] += executions * problem.to_host_seconds(v, d);
    }
  }
  return graph;
}

LoadState::LoadState(const LoadGraph& graph, std::vector<std::int32_t> device_of)
    : graph_(&graph),
      device_of_(std::move(device_of)),
      loads_(graph.devices),
      bytes_(graph.devices),
      readers_(graph.values.size() * graph.devices) {
  for (std::size_t g = 0; g < device_of_.size(); ++g) {
    loads_[device_of_[g]] += graph.work[device_of_[g]][g];
    bytes_[device_of_[g]] += graph.bytes[g];
  }
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const auto& value = graph.values[v];
    const std::int32_t home = device_of_[value.producer];
    for (const std::int32_t reader : value.consumers) ++readers(static_cast<std::int32_t>(v), device_of_[reader]);
    bool leaves = false;
    for (std::size_t d = 0; d < graph.devices; ++d) {
      if (static_cast<std::int32_t>(d) == home || readers(static_cast<std::int32_t>(v), static_cast<std::int32_t>(d)) == 0) continue;
      loads_[d] += value.in[d];
      leaves = true;
    }
    if (leaves) loads_[home] += value.out[home];
  }
}

void LoadState::move(std::int32_t group, std::int32_t to) {
  const std::int32_t from = device_of_[group];
  if (from == to) return;
  loads_[from] -= graph_->work[from][group];
  loads_[to] += graph_->work[to][group];
  bytes_[from] -= graph_->bytes[group];
  bytes_[to] += graph_->bytes[group];
  for (const std::int32_t v : graph_->produced[group]) {
    const auto& value = graph_->values[v];
    const auto all = static_cast<std::int32_t>(value.consumers.size());
    const std::int32_t before = readers(v, from), after = readers(v, to);
    if (before < all) loads_[from] -= value.out[from];
    if (before > 0) loads_[from] += value.in[from];
    if (after < all) loads_[to] += value.out[to];
    if (after > 0) loads_[to] -= value.in[to];
  }
  device_of_[group] = to;
  for (const std::int32_t v : graph_->consumed[group]) {
    const auto& value = graph_->values[v];
    const std::int32_t home = device_of_[value.producer];
    const auto all = static_cast<std::int32_t>(value.consumers.size());
    if (--readers(v, from) == 0 && from != home) loads_[from] -= value.in[from];
    if (from == home && readers(v, from) == all - 1) loads_[home] += value.out[home];
    if (++readers(v, to) == 1 && to != home) loads_[to] += value.in[to];
    if (to == home && readers(v, to) == all) loads_[home] -= value.out[home];
  }
}

double LoadState::busiest() const {
  return *std::max_element(loads_.begin(), loads_.end());
}

bool LoadState::fits() const {
  for (std::size_t d = 0; d < bytes_.size(); ++d)
    if (bytes_[d] > graph_->room[d]) return false;
  return busiest() < DeviceProblem::kNever;
}

}  // namespace cleave::planner
