#include "partitioner/apply/producers.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "graph/trips.h"
#include "partitioner/apply/predict.h"
#include "partitioner/apply/step_costs.h"

namespace cleave::planner {
namespace {

/// Work of less time is made ahead only where longer work needs it or needs its result.
constexpr double kCheapSeconds = 2e-6;

class ProducerSearch {
 public:
  ProducerSearch(const Program& program, const CostedProblem& costed)
      : program_(program),
        graph_(*program.graph),
        host_(program.devices[kHost]),
        seconds_(step_seconds(program, kHost, costed)),
        excluded_(graph_.nodes.size(), 0),
        ahead_(graph_.nodes.size(), 0),
        made_(graph_.values.size(), 0),
        received_(graph_.regions.size()),
        kernels_(graph_.regions.size()),
        kernel_end_(graph_.nodes.size()) {
    find_received();
    find_kernels();
  }

  std::vector<Producer> run() {
    for (;;) {
      std::vector<Producer> found;
      std::fill(ahead_.begin(), ahead_.end(), std::uint8_t{0});
      for (const Block& block : host_.blocks)
        for (const Step& step : block.steps)
          if (step.kind == StepKind::for_loop && step.blocks[0] != kNoBlock) add_producer(step, found);
      if (!exclude_functions_called_elsewhere()) return found;
    }
  }

 private:
  void add_producer(const Step& loop, std::vector<Producer>& found) {
    const Node& node = graph_.nodes[loop.node];
    const std::optional<std::int64_t> stated = stated_prefetch(node);
    const auto* count = node.attributes.get_if<std::int64_t>("count");
    if (stated == 0 || (count && *count < 2)) return;
    const Block& body = host_.blocks[static_cast<std::size_t>(loop.blocks[0])];
    while (find_data(body) && exclude_parts_of_kernels(body)) {
    }
    if (!stated) keep_long_work(body);
    Producer producer{loop.node, std::max(static_cast<int>(stated.value_or(kPrefetch)), program_.workers), {}};
    double seconds = 0;
    bool counts = false;
    for (const Step& step : body.steps) {
      if (step.kind != StepKind::compute || !ahead_[step.node]) continue;
      producer.nodes.push_back(step.node);
      seconds += seconds_[step.node];
      for (const ValueId input : graph_.nodes[step.node].inputs) {
        const Node& read = graph_.producer(input);
        counts = counts || (read.kind == NodeKind::counter && read.owner == loop.node);
      }
    }
    // Work that is the same in each trip is better done in front of the loop, as a diagnostic says.
    if (counts && (stated || seconds >= kWorthAhead)) return found.push_back(std::move(producer));
    for (const NodeId each : producer.nodes) ahead_[each] = 0;
  }

  /// Marks the operations of a loop's body that need only the counter, each other, and values that exist before the loop. Returns whether
  /// there are any.
  bool find_data(const Block& body) {
    const std::set<ValueId>& received = received_[body.region];
    const auto known = [&](ValueId value) {
      return made_[value] != 0 || (graph_.values[value].region != body.region && !received.contains(value));
    };
    bool any = false;
    std::vector<ValueId> made;
    for (const Step& step : body.steps) {
      if (step.kind != StepKind::compute) continue;
      const Node& node = graph_.nodes[step.node];
      const bool pure = node.kind == NodeKind::operation && !excluded_[step.node] && graph_.purity(step.node) == Purity::pure;
      const bool data = pure && std::all_of(node.inputs.begin(), node.inputs.end(), known);
      ahead_[step.node] = data ? 1 : 0;
      any = any || data;
      if (!data && node.kind != NodeKind::counter && node.kind != NodeKind::constant) continue;
      for (const ValueId result : node.results) {
        made_[result] = 1;
        made.push_back(result);
      }
    }
    for (const ValueId value : made) made_[value] = 0;
    return any;
  }

  void find_received() {
    for (const Channel& channel : program_.channels) {
      if (channel.to != kHost) continue;
      for (RegionId region = channel.region; region != Graph::kRoot; region = graph_.regions[region].parent)
        received_[region].insert(channel.value);
    }
  }
  void find_kernels() {
    if (program_.kernels.size() == 0) return;
    for (const FusibleGroup& kernel : program_.kernels[kHost]) {
      kernels_[graph_.nodes[kernel.nodes.back()].region].push_back(&kernel);
      for (const NodeId node : kernel.nodes) kernel_end_[node] = kernel.nodes.back();
    }
  }

  /// Excludes fused kernels that are not all data. Returns whether there was one.
  bool exclude_parts_of_kernels(const Block& body) {
    bool excluded = false;
    for (const FusibleGroup* kernel : kernels_[body.region]) {
      const auto data = [&](NodeId node) { return ahead_[node] != 0 && graph_.nodes[node].region == body.region; };
      if (std::all_of(kernel->nodes.begin(), kernel->nodes.end(), data) || std::none_of(kernel->nodes.begin(), kernel->nodes.end(), data))
        continue;
      for (const NodeId node : kernel->nodes) excluded_[node] = 1;
      excluded = true;
    }
    return excluded;
  }

  /// Leaves out short work that no longer work needs, and that needs none: handing over its results would cost more than computing them.
  void keep_long_work(const Block& body) {
    std::vector<ValueId> linked;
    std::vector<NodeId> data;
    for (const Step& step : body.steps)
      if (step.kind == StepKind::compute && ahead_[step.node]) data.push_back(step.node);
    IdVector<NodeId, std::uint8_t> kept(graph_.nodes.size(), 0);
    const auto link = [&](const std::vector<ValueId>& values) {
      for (const ValueId value : values) {
        if (made_[value]) continue;
        made_[value] = 1;
        linked.push_back(value);
      }
    };
    const auto is_linked = [&](ValueId value) { return made_[value] != 0; };
    const auto forget = [&] {
      for (const ValueId value : linked) made_[value] = 0;
      linked.clear();
    };
    for (const NodeId node : data) {  // long work and what needs it
      const std::vector<ValueId>& inputs = graph_.nodes[node].inputs;
      if (kernel_seconds(node) < kCheapSeconds && std::none_of(inputs.begin(), inputs.end(), is_linked)) continue;
      kept[node] = 1;
      link(graph_.nodes[node].results);
    }
    forget();
    for (auto node = data.rbegin(); node != data.rend(); ++node) {  // what these need
      const std::vector<ValueId>& results = graph_.nodes[*node].results;
      if (!kept[*node] && std::none_of(results.begin(), results.end(), is_linked)) continue;
      kept[*node] = 1;
      link(graph_.nodes[*node].inputs);
    }
    forget();
    for (const NodeId node : data) ahead_[node] = kept[node];
    exclude_unkept_kernels(body);
  }

  /// Operations of one kernel stay together.
  void exclude_unkept_kernels(const Block& body) {
    for (const FusibleGroup* kernel : kernels_[body.region]) {
      if (std::any_of(kernel->nodes.begin(), kernel->nodes.end(), [&](NodeId node) { return ahead_[node] != 0; }))
        for (const NodeId node : kernel->nodes) ahead_[node] = 1;
    }
  }

  /// The time of the operation's kernel, which is recorded with its last operation.
  [[nodiscard]] double kernel_seconds(NodeId node) const {
    if (seconds_[node] > 0 || !kernel_end_[node].valid()) return seconds_[node];
    return seconds_[kernel_end_[node]];
  }

  /// With one worker: excludes calls of functions that are also called by the host's own thread. Returns whether there was one.
  bool exclude_functions_called_elsewhere() {
    if (program_.workers > 1) return false;
    std::set<std::string> elsewhere;
    for (const Block& block : host_.blocks)
      for (const Step& step : block.steps)
        if (const HostFunction* function = called(step); function && !ahead_[step.node]) elsewhere.insert(function->name);
    bool excluded = false;
    for (const Block& block : host_.blocks) {
      for (const Step& step : block.steps) {
        const HostFunction* function = called(step);
        if (!function || !ahead_[step.node] || !elsewhere.contains(function->name)) continue;
        excluded_[step.node] = 1;
        excluded = true;
      }
    }
    return excluded;
  }
  /// The function that a step calls, unless it may be called by several threads.
  [[nodiscard]] const HostFunction* called(const Step& step) const {
    const HostFunction* function = step.kind == StepKind::compute ? graph_.nodes[step.node].host_function() : nullptr;
    return function && !function->begin ? function : nullptr;
  }

  const Program& program_;
  const Graph& graph_;
  const DeviceProgram& host_;
  const IdVector<NodeId, double> seconds_;
  IdVector<NodeId, std::uint8_t> excluded_;                       ///< nodes that belong to no producer
  IdVector<NodeId, std::uint8_t> ahead_;                          ///< nodes of the producers found so far
  IdVector<ValueId, std::uint8_t> made_;                          ///< scratch of one loop; zero in between
  IdVector<RegionId, std::set<ValueId>> received_;                ///< by region: the values that the host receives in it, at any depth
  IdVector<RegionId, std::vector<const FusibleGroup*>> kernels_;  ///< by region: the host's fused kernels
  IdVector<NodeId, NodeId> kernel_end_;                           ///< the last operation of a node's fused kernel; none: it has none
};

bool has_loops(const DeviceProgram& device) {
  return std::any_of(device.blocks.begin(), device.blocks.end(), [](const Block& block) {
    return std::any_of(block.steps.begin(), block.steps.end(), [](const Step& step) { return step.kind == StepKind::for_loop; });
  });
}

constexpr int kMostWorkersTried = 64;

/// The pace of a loop in a simulated run.
double pace_of(const Schedule& schedule, NodeId loop) {
  for (const Production& each : schedule.productions)
    if (each.loop == loop) return each.pace_seconds;
  return 0;
}

/// The elapsed time of a trip if its data took no time.
double step_without(const Producer& producer, const StepTimes& times, const Program& program, const Transfers& transfers,
                    const CostedProblem& costed) {
  StepTimes without = times;
  for (const NodeId node : producer.nodes) without.steps[kHost.index][node] = 0;
  return pace_of(predict_with(without, program, transfers, costed), producer.loop);
}

/// The least number of workers with which the loop's pace is that of its step.
std::optional<int> find_hiding(const ProducedData& data, const StepTimes& times, const Program& program, const Transfers& transfers,
                               const CostedProblem& costed) {
  if (!data.slow() || data.seconds > kMostWorkersTried * data.step_seconds) return std::nullopt;
  Program with = program;
  with.workers = std::max(data.workers + 1, static_cast<int>(std::ceil(data.seconds / (ProducedData::kSlowProducer * data.step_seconds))));
  for (Producer& producer : with.producers) producer.ahead = std::max(producer.ahead, with.workers);
  const double pace = pace_of(predict_with(times, with, transfers, costed), data.loop);
  return pace <= ProducedData::kSlowProducer * data.step_seconds ? std::optional(with.workers) : std::nullopt;
}

}  // namespace

std::vector<ProducedData> find_produced_data(const Program& program, const Transfers& transfers, const CostedProblem& costed,
                                             const Schedule& schedule) {
  std::vector<ProducedData> all;
  const StepTimes times = program.producers.empty() ? StepTimes() : step_times(program, costed);
  for (const Producer& producer : program.producers) {
    if (pace_of(schedule, producer.loop) <= 0) continue;
    ProducedData data{producer.loop, program.workers, 0, 0, producer.nodes.front(), 0, std::nullopt};
    for (const NodeId node : producer.nodes) {
      const double seconds = times.steps[kHost.index][node];
      data.seconds += seconds;
      if (seconds <= data.longest_seconds) continue;
      data.longest = node;
      data.longest_seconds = seconds;
    }
    data.step_seconds = step_without(producer, times, program, transfers, costed);
    data.hidden_by = find_hiding(data, times, program, transfers, costed);
    all.push_back(data);
  }
  return all;
}

bool may_have_producers(const Graph& graph, const CostedProblem& costed) {
  if (costed.workers < 1) return false;
  for (const Region& region : graph.regions) {
    if (region.kind != RegionKind::for_body || stated_prefetch(graph.nodes[region.owner]) == 0) continue;
    double seconds = stated_prefetch(graph.nodes[region.owner]) ? kWorthAhead : 0;
    bool any = false;
    const auto known = [&](ValueId value) {
      const Value& read = graph.values[value];
      const NodeKind kind = graph.nodes[read.producer].kind;
      return &graph.regions[read.region] != &region || kind == NodeKind::counter || kind == NodeKind::constant;
    };
    for (const NodeId id : region.nodes) {
      const Node& node = graph.nodes[id];
      if (node.kind != NodeKind::operation || graph.purity(id) != Purity::pure) continue;
      any = any || std::all_of(node.inputs.begin(), node.inputs.end(), known);
      seconds += costed.problem.nodes[id.index].host_seconds;
    }
    if (any && seconds >= kWorthAhead) return true;
  }
  return false;
}

std::vector<Producer> find_producers(const Program& program, const CostedProblem& costed) {
  if (program.workers < 1 || !has_loops(program.devices[kHost])) return {};
  return ProducerSearch(program, costed).run();
}

}  // namespace cleave::planner
