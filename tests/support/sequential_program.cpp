#include "tests/support/sequential_program.h"

#include <array>
#include <map>
#include <optional>

#include "executor/arguments/bindings.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

constexpr std::size_t kDevices = 2;

/// The values on one device. Values of a region are dropped when its execution ends.
struct Environment {
  std::vector<std::optional<Array>> values;
  std::vector<ValueId> trail;

  void set(ValueId value, Array array) {
    if (!values[value.index]) trail.push_back(value);
    values[value.index] = std::move(array);
  }
  void forget(std::size_t length) {
    for (; trail.size() > length; trail.pop_back()) values[trail.back().index].reset();
  }
};

class Runner {
 public:
  Runner(const Program& program, std::map<NodeId, Array> leaves, const RunOptions& options)
      : program_(program), graph_(*program.graph), leaves_(std::move(leaves)), channels_(program.channels.size()) {
    context_.print = print_or_stdout(options);
    for (Environment& environment : environments_) environment.values.resize(graph_.values.size());
    result_.moved.assign(program.channels.size(), 0);
    result_.executions.resize(graph_.regions.size());
  }

  Result<SequentialRun> run() {
    if (Status status = region(Graph::kRoot, {0, 0}); !status) return status.error();
    for (const Output& output : graph_.outputs) result_.outputs.push_back(read(0, output.value, "output"));
    return std::move(result_);
  }

 private:
  using Blocks = std::array<BlockIndex, kDevices>;
  using Steps = std::array<const Step*, kDevices>;

  void complain(const std::string& text) {
    if (result_.complaints.size() < 20) result_.complaints.push_back(text);
  }
  Array read(std::size_t device, ValueId value, const char* what) {
    const auto& found = environments_[device].values[value.index];
    if (found) return *found;
    complain(std::string(what) + ": value " + std::to_string(value.index) + " is not on device " + std::to_string(device));
    return Array(graph_.values[value].type);
  }

  Status region(RegionId id, Blocks blocks) {
    ++result_.executions[id];
    std::array<std::size_t, kDevices> next{};
    while (true) {
      Steps steps{};
      for (std::size_t d = 0; d < kDevices; ++d) {
        if (blocks[d] == kNoBlock) continue;
        const auto& list = program_.devices[DeviceId(d)].blocks[static_cast<std::size_t>(blocks[d])].steps;
        if (next[d] < list.size()) steps[d] = &list[next[d]];
      }
      if (!steps[0] && !steps[1]) break;
      if (steps[0] && steps[1] && steps[0]->order != steps[1]->order) steps[steps[0]->order < steps[1]->order ? 1 : 0] = nullptr;
      for (std::size_t d = 0; d < kDevices; ++d) next[d] += steps[d] ? 1 : 0;
      if (Status status = take(steps); !status) return status;
    }
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      if (program_.channels[ChannelId(c)].region == id && channels_[c]) complain("channel " + std::to_string(c) + " is left full");
    }
    return {};
  }

  Status take(const Steps& steps) {
    const std::size_t device = steps[0] ? 0 : 1;
    const Step& step = *steps[device];
    const std::size_t c = step.channel.index;
    switch (step.kind) {
      case StepKind::compute: return compute(step, device);
      case StepKind::send:
        if (channels_[c]) complain("channel " + std::to_string(c) + " is sent to while full");
        channels_[c] = read(device, step.value, "send");
        return {};
      case StepKind::receive:
        if (!channels_[c]) complain("channel " + std::to_string(c) + " is read while empty");
        if (channels_[c]) environments_[device].set(step.value, *channels_[c]);
        channels_[c].reset();
        ++result_.moved[c];
        return {};
      case StepKind::branch: return branch(steps);
      default: return loop(steps);
    }
  }

  Status compute(const Step& step, std::size_t device) {
    const Node& node = graph_.nodes[step.node];
    if (node.kind == NodeKind::input || node.kind == NodeKind::parameter) {
      environments_[device].set(node.results[0], leaves_.at(step.node));
    } else if (node.kind == NodeKind::constant) {
      environments_[device].set(node.results[0], node.attributes.get<Array>("value"));
    } else if (node.kind == NodeKind::counter) {
      environments_[device].set(node.results[0], Array::scalar(static_cast<std::int32_t>(trips_[node.owner])));
    } else {
      std::vector<Array> inputs, results;
      for (ValueId value : node.inputs) inputs.push_back(read(device, value, "operand"));
      for (ValueId value : node.results) results.emplace_back(graph_.values[value].type);
      if (Status status = node.op->reference({node.attributes, inputs, results, context_}); !status) return status;
      for (std::size_t i = 0; i < results.size(); ++i) environments_[device].set(node.results[i], results[i]);
    }
    return {};
  }

  /// The device that decides a loop or branch: the host, unless another device executes it alone.
  static std::size_t decider(const Steps& steps) { return steps[0] ? 0 : 1; }
  static NodeId control_of(const Steps& steps) { return steps[decider(steps)]->node; }
  bool decides(const Steps& steps, ValueId predicate) { return read(decider(steps), predicate, "predicate").at(0) != 0; }
  static Blocks blocks_of(const Steps& steps, std::size_t k) {
    return {steps[0] ? steps[0]->blocks[k] : kNoBlock, steps[1] ? steps[1]->blocks[k] : kNoBlock};
  }
  std::array<std::size_t, kDevices> marks() const { return {environments_[0].trail.size(), environments_[1].trail.size()}; }
  void forget(const std::array<std::size_t, kDevices>& marks) {
    for (std::size_t d = 0; d < kDevices; ++d) environments_[d].forget(marks[d]);
  }

  Status branch(const Steps& steps) {
    const Node& node = graph_.nodes[control_of(steps)];
    const std::size_t arm = decides(steps, node.inputs[0]) ? 0 : 1;
    const auto before = marks();
    if (Status status = region(node.regions[arm], blocks_of(steps, arm)); !status) return status;
    std::array<std::vector<Array>, kDevices> merged;
    for (std::size_t d = 0; d < kDevices; ++d) {
      if (!steps[d]) continue;
      for (NodeId merge : steps[d]->merges) merged[d].push_back(read(d, graph_.nodes[merge].inputs[arm], "arm"));
    }
    forget(before);
    for (std::size_t d = 0; d < kDevices; ++d) {
      for (std::size_t i = 0; i < merged[d].size(); ++i) environments_[d].set(graph_.nodes[steps[d]->merges[i]].results[0], merged[d][i]);
    }
    return {};
  }

  using Carried = std::array<std::vector<Array>, kDevices>;
  Carried gather(const Steps& steps, std::size_t input, const char* what) {
    Carried carried;
    for (std::size_t d = 0; d < kDevices; ++d) {
      if (!steps[d]) continue;
      for (NodeId id : steps[d]->carried) carried[d].push_back(read(d, graph_.nodes[id].inputs[input], what));
    }
    return carried;
  }
  void provide(const Steps& steps, std::size_t result, const Carried& carried) {
    for (std::size_t d = 0; d < kDevices; ++d) {
      for (std::size_t i = 0; i < carried[d].size(); ++i)
        environments_[d].set(graph_.nodes[steps[d]->carried[i]].results[result], carried[d][i]);
    }
  }

  Status loop(const Steps& steps) {
    const NodeId id = control_of(steps);
    const Node& node = graph_.nodes[id];
    const bool is_for = node.kind == NodeKind::for_loop;
    std::int64_t count = 0;
    if (is_for && node.inputs.empty()) count = node.attributes.get<std::int64_t>("count");
    if (is_for && !node.inputs.empty()) {
      const Result<std::int64_t> trips = checked_trips(graph_, id, read(decider(steps), node.inputs[0], "count").bytes());
      if (!trips) return trips.error();
      count = *trips;
    }
    const auto before = marks();
    Carried carried = gather(steps, 0, "initial");
    for (std::int64_t trip = 0; !is_for || trip < count; ++trip) {
      forget(before);
      provide(steps, 0, carried);
      trips_[id] = trip;
      if (Status status = region(node.regions[0], blocks_of(steps, 0)); !status) return status;
      if (!is_for) {
        if (!decides(steps, graph_.regions[node.regions[0]].predicate)) break;
        if (Status status = check_further_trip(graph_, id, trip); !status) return status;
        if (Status status = region(node.regions[1], blocks_of(steps, 1)); !status) return status;
      }
      carried = gather(steps, 1, "yielded");
      const ValueId until = is_for ? graph_.regions[node.regions[0]].predicate : ValueId();
      if (until && decides(steps, until)) break;
      if (is_for && trip + 1 < count)
        if (Status status = check_further_trip(graph_, id, trip + 1); !status) return status;
    }
    forget(before);
    provide(steps, 1, carried);
    return {};
  }

  const Program& program_;
  const Graph& graph_;
  std::map<NodeId, Array> leaves_;
  OpContext context_;
  std::array<Environment, kDevices> environments_;
  std::vector<std::optional<Array>> channels_;
  std::map<NodeId, std::int64_t> trips_;
  SequentialRun result_;
};

}  // namespace

Result<SequentialRun> run_sequentially(const Program& program, const RunOptions& options) {
  Result<std::map<NodeId, Array>> leaves = bind_leaves(*program.graph, options);
  if (!leaves) return leaves.error();
  return Runner(program, std::move(*leaves), options).run();
}

}  // namespace cleave::testing
