// See latency_rule.h. The pieces of an accelerator follow from the largest number of times that a path to a node comes back to it.
#include "partitioner/devices/latency_rule.h"

#include <algorithm>
#include <cmath>

#include "partitioner/devices/transfer_regions.h"

namespace cleave::planner {
namespace {

constexpr double kNever = DeviceProblem::kNever;

/// A topological order of the nodes; shorter than the nodes if there is a cycle.
std::vector<std::int32_t> topological_order(const LatencyGraph& graph) {
  std::vector<std::int32_t> order, open(graph.consumed.size());
  for (std::size_t i = 0; i < open.size(); ++i) {
    open[i] = static_cast<std::int32_t>(graph.consumed[i].size());
    if (open[i] == 0) order.push_back(static_cast<std::int32_t>(i));
  }
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (const std::int32_t v : graph.produced[order[next]]) {
      for (const std::int32_t reader : graph.values[v].consumers)
        if (--open[reader] == 0) order.push_back(reader);
    }
  }
  return order;
}

}  // namespace

double LatencyGraph::least_work(std::int32_t node) const {
  double least = kNever;
  for (const auto& each : work) least = std::min(least, each[node]);
  return least;
}

Result<LatencyGraph> latency_graph(const DeviceProblem& problem, const DeviceClasses& classes, const UsesByValue& uses) {
  const std::size_t count = problem.base.nodes.size();
  LatencyGraph graph;
  graph.devices = problem.devices();
  graph.class_of = classes.class_of;
  graph.bytes = classes.bytes;
  graph.room.assign(graph.devices, kNever);
  graph.work.assign(graph.devices, std::vector<double>(count));
  for (std::size_t d = 0; d < graph.devices; ++d) {
    if (d > 0 && problem.accelerators[d - 1].memory_bytes > 0) graph.room[d] = problem.accelerators[d - 1].memory_bytes;
    for (std::size_t i = 0; i < count; ++i) {
      const double executions = problem.base.regions[problem.base.nodes[i].region].frequency;
      graph.work[d][i] = classes.allowed[classes.class_of[i]].has(d) ? executions * problem.seconds(i, d) : kNever;
    }
  }
  graph.produced.resize(count);
  graph.consumed.resize(count);
  TransferRegions regions(problem.base);
  for (std::size_t v = 0; v < problem.base.values.size(); ++v) {
    LatencyGraph::Value value{problem.base.values[v].node, {}, std::vector<double>(graph.devices), std::vector<double>(graph.devices)};
    regions.restart(problem.base.values[v].region);
    for (std::int32_t i = uses.start[v]; i < uses.start[v + 1]; ++i) {
      const auto& use = problem.base.uses[uses.order[i]];
      if (use.node == value.producer) continue;
      value.consumers.push_back(use.node);
      regions.need(use.region);
    }
    if (value.consumers.empty()) continue;
    std::sort(value.consumers.begin(), value.consumers.end());
    value.consumers.erase(std::unique(value.consumers.begin(), value.consumers.end()), value.consumers.end());
    const double executions = regions.executions();
    for (std::size_t d = 1; d < graph.devices; ++d) {
      value.in[d] = executions * problem.from_host_seconds(v, d);
      value.out[d] = executions * problem.to_host_seconds(v, d);
    }
    const auto index = static_cast<std::int32_t>(graph.values.size());
    graph.produced[value.producer].push_back(index);
    for (const std::int32_t reader : value.consumers) graph.consumed[reader].push_back(index);
    graph.values.push_back(std::move(value));
  }
  graph.order = topological_order(graph);
  if (graph.order.size() < count) {
    return Error{"the latency of one run needs operations without cycles, but " + std::to_string(count - graph.order.size()) +
                 " nodes wait for each other in a circle"};
  }
  graph.nodes.resize(classes.size());
  for (const std::int32_t node : graph.order) graph.nodes[graph.class_of[node]].push_back(node);
  return graph;
}

LatencyEvaluator::LatencyEvaluator(const LatencyGraph& graph)
    : graph_(graph), level_(graph.class_of.size()), unit_of_(graph.class_of.size()) {
  for (const auto& value : graph.values) uses_ += value.consumers.size();
}

double LatencyEvaluator::seconds(const std::vector<std::int32_t>& device_of) {
  visited_ += static_cast<double>(2 * (graph_.order.size() + uses_));
  find_pieces(device_of);
  return price_pieces() ? finish() : kNever;
}

void LatencyEvaluator::find_pieces(const std::vector<std::int32_t>& device_of) {
  device_.clear();
  next_.clear();
  std::vector<std::uint8_t> used(graph_.devices);
  for (const std::int32_t device : device_of) used[device] = 1;
  for (const std::int32_t node : graph_.order) {
    if (device_of[graph_.class_of[node]] != 0) continue;
    unit_of_[node] = static_cast<std::int32_t>(device_.size());
    device_.push_back(0);
    next_.push_back(-1);
  }
  for (std::size_t d = 1; d < graph_.devices; ++d) {
    if (!used[d]) continue;
    visited_ += static_cast<double>(graph_.order.size() + uses_);
    const auto first = static_cast<std::int32_t>(device_.size());
    const auto device = static_cast<std::int32_t>(d);
    std::int32_t pieces = 0;
    for (const std::int32_t node : graph_.order) {
      const bool here = device_of[graph_.class_of[node]] == device;
      std::int32_t level = here ? 1 : 0;
      for (const std::int32_t v : graph_.consumed[node]) {
        const std::int32_t before = graph_.values[v].producer;
        level = std::max(level, level_[before] + (here && device_of[graph_.class_of[before]] != device ? 1 : 0));
      }
      level_[node] = level;
      if (!here) continue;
      unit_of_[node] = first + level - 1;
      pieces = std::max(pieces, level);
    }
    for (std::int32_t p = 0; p < pieces; ++p) {
      device_.push_back(device);
      next_.push_back(p + 1 < pieces ? first + p + 1 : -1);
    }
  }
}

bool LatencyEvaluator::price_pieces() {
  const std::size_t units = device_.size();
  start_.assign(units, 0);
  seconds_.assign(units, 0);
  waits_.assign(units, 0);
  seen_.assign(units, -1);
  first_.assign(units + 1, 0);
  for (const std::int32_t node : graph_.order) {
    const std::int32_t unit = unit_of_[node];
    seconds_[unit] += graph_.work[device_[unit]][node];
    if (seconds_[unit] == kNever) return false;
    ++first_[unit + 1];
  }
  for (std::size_t u = 0; u < units; ++u) {
    first_[u + 1] += first_[u];
    if (next_[u] >= 0) ++waits_[next_[u]];
  }
  members_.resize(graph_.order.size());
  for (const std::int32_t node : graph_.order) members_[first_[unit_of_[node]]++] = node;
  for (std::size_t u = units; u > 0; --u) first_[u] = first_[u - 1];
  first_[0] = 0;
  for (std::size_t v = 0; v < graph_.values.size(); ++v) {
    const auto& value = graph_.values[v];
    const std::int32_t home = unit_of_[value.producer];
    bool leaves = false;
    for (const std::int32_t reader : value.consumers) {
      const std::int32_t unit = unit_of_[reader];
      if (unit == home) continue;
      leaves = true;
      ++waits_[unit];
      if (seen_[unit] == static_cast<std::int32_t>(v)) continue;
      seen_[unit] = static_cast<std::int32_t>(v);
      seconds_[unit] += value.in[device_[unit]];
    }
    if (leaves) seconds_[home] += value.out[device_[home]];
  }
  return true;
}

double LatencyEvaluator::finish() {
  ready_.clear();
  for (std::size_t u = 0; u < waits_.size(); ++u)
    if (waits_[u] == 0) ready_.push_back(static_cast<std::int32_t>(u));
  double last = 0;
  const auto reach = [&](std::int32_t unit, double at) {
    start_[unit] = std::max(start_[unit], at);
    if (--waits_[unit] == 0) ready_.push_back(unit);
  };
  for (std::size_t i = 0; i < ready_.size(); ++i) {
    const std::int32_t unit = ready_[i];
    const double end = start_[unit] + seconds_[unit];
    last = std::max(last, end);
    if (next_[unit] >= 0) reach(next_[unit], end);
    for (std::int32_t m = first_[unit]; m < first_[unit + 1]; ++m) {
      for (const std::int32_t v : graph_.produced[members_[m]]) {
        for (const std::int32_t reader : graph_.values[v].consumers)
          if (unit_of_[reader] != unit) reach(unit_of_[reader], end);
      }
    }
  }
  return ready_.size() == device_.size() ? last : kNever;
}

double latency_bound(const LatencyGraph& graph) {
  const std::size_t count = graph.order.size();
  std::vector<double> least(count), head(count), tail(count), on_accelerators(count, kNever);
  double path = 0, longest = 0, room = 0;
  for (std::size_t d = 1; d < graph.devices; ++d) room += graph.room[d];
  for (std::size_t i = 0; i < count; ++i) {
    least[i] = graph.least_work(static_cast<std::int32_t>(i));
    for (std::size_t d = 1; d < graph.devices; ++d) on_accelerators[i] = std::min(on_accelerators[i], graph.work[d][i]);
  }
  for (const std::int32_t node : graph.order) {
    for (const std::int32_t v : graph.consumed[node]) {
      const std::int32_t before = graph.values[v].producer;
      head[node] = std::max(head[node], head[before] + least[before]);
    }
    path = std::max(path, head[node] + least[node]);
  }
  for (std::size_t i = count; i-- > 0;) {
    const std::int32_t node = graph.order[i];
    for (const std::int32_t v : graph.produced[node])
      for (const std::int32_t reader : graph.values[v].consumers) tail[node] = std::max(tail[node], tail[reader] + least[reader]);
  }
  // Per class: the time through it on the host. At a time L, classes with a longer one are on accelerators.
  std::vector<double> through(graph.classes());
  for (std::size_t i = 0; i < count; ++i) {
    double& longest_path = through[graph.class_of[i]];
    longest_path = std::max(longest_path, head[i] + graph.work[0][i] + tail[i]);
    longest = std::max(longest, longest_path == kNever ? 0 : longest_path);
  }
  const auto refuted = [&](double limit) {
    double bytes = 0, seconds = 0;
    for (std::size_t c = 0; c < through.size(); ++c) {
      if (through[c] <= limit) continue;
      bytes += graph.bytes[c];
      for (const std::int32_t node : graph.nodes[c]) seconds += on_accelerators[node];
    }
    return bytes > room * (1 + 1e-12) || seconds > limit * static_cast<double>(graph.devices - 1) * (1 + 1e-12);
  };
  double low = path, high = std::max(path, longest);
  if (!refuted(low)) return path;
  if (refuted(high)) {  // what must be on accelerators is more than `high` for them
    for (int i = 0; i < 60 && refuted(high); ++i) high *= 2;
  }
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (refuted(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace cleave::planner
