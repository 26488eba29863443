// The reference executor: one environment of arrays, one stack of regions, one node after the other. Knows no device and no Program.
#include "executor/check/reference.h"

#include <chrono>
#include <stop_token>

#include "executor/arguments/bindings.h"
#include "executor/arguments/caller_memory.h"
#include "executor/arguments/step_collector.h"
#include "executor/report/observation.h"
#include "executor/report/sample_clock.h"
#include "graph/base/boundary.h"
#include "graph/base/exceptions.h"
#include "graph/base/stop.h"
#include "graph/gradient/differentiate.h"
#include "graph/lengths.h"

namespace cleave::runtime {
namespace {

/// A region being executed. A loop's frame keeps its trip; the frame of a while's body is above that of its condition.
struct Frame {
  RegionId region;
  std::size_t next = 0;    ///< index of the next node
  std::int64_t trip = 0;   ///< loops: trips begun before this one
  std::int64_t count = 0;  ///< for: trips at most
};

class Walk {
 public:
  Walk(const Graph& graph, const RunOptions& options, std::map<NodeId, Array> leaves, BoundAttributes bound)
      : graph_(graph),
        stop_(options.stop),
        leaves_(std::move(leaves)),
        bound_(std::move(bound)),
        values_(graph.values.size()),
        owned_(graph.nodes.size()),
        steps_(graph) {
    context_.print = print_or_stdout(options);
    context_.log = [this](std::string_view label, const Array& value) { return steps_.log(label, value); };
    steps_.begin(options);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[NodeId(i)];
      if (node.kind == NodeKind::carried || node.kind == NodeKind::merge) owned_[node.owner].push_back(NodeId(i));
    }
  }

  Status run() {
    frames_.push_back({Graph::kRoot});
    const Asked asked(stop_);
    const UnderSign under(stop_.stop_possible() ? &asked : nullptr);
    while (!frames_.empty()) {
      if (stop_.stop_requested()) return cancelled();
      Frame& frame = frames_.back();
      const std::vector<NodeId>& nodes = graph_.regions[frame.region].nodes;
      Status status = frame.next < nodes.size() ? step(nodes[frame.next++]) : end_region();
      if (!status) return stop_.stop_requested() ? cancelled() : status;
    }
    return {};
  }

  [[nodiscard]] const Array& value(ValueId id) const { return values_[id]; }
  /// Must be called after the run, also after a failed one.
  Status finish_steps() { return steps_.finish(); }
  [[nodiscard]] std::int64_t steps() const { return steps_.steps(); }
  [[nodiscard]] Profile observed() const { return observation_.profile(graph_); }

 private:
  /// The stop sign of the caller: true once the caller has requested the end of the run.
  class Asked final : public StopSign {
   public:
    explicit Asked(const std::stop_token& token) : token_(token) {}
    [[nodiscard]] bool stopped() const override { return token_.stop_requested(); }

   private:
    const std::stop_token& token_;
  };
  static Status cancelled() { return Error{"cancelled", {}, ErrorKind::user}; }

  Status step(NodeId id) {
    const Node& node = graph_.nodes[id];
    switch (node.kind) {
      case NodeKind::operation: return operation(id);
      case NodeKind::input:
      case NodeKind::parameter: values_[node.results[0]] = leaves_.at(id); return {};
      case NodeKind::constant: values_[node.results[0]] = node.attributes.get<Array>("value"); return {};
      case NodeKind::counter: values_[node.results[0]] = Array::scalar(static_cast<std::int32_t>(frames_.back().trip)); return {};
      case NodeKind::for_loop: return begin_for(id);
      case NodeKind::while_loop:
        initialize(id);
        frames_.push_back({node.regions[0]});
        return {};
      case NodeKind::branch: {
        bool taken = truth(node.inputs[0]);
        observation_.control(id, taken ? 1 : 0);
        frames_.push_back({node.regions[taken ? 0 : 1]});
        return {};
      }
      case NodeKind::carried:
      case NodeKind::merge: return {};  // set by the node that owns them
    }
    return {};
  }

  Status operation(NodeId id) {
    const Node& node = graph_.nodes[id];
    std::vector<Array> inputs, results;
    for (ValueId input : node.inputs) inputs.push_back(values_[input]);
    for (ValueId result : node.results) {
      Result<Array> array = Array::allocate(graph_.values[result].type);
      if (!array) return at_node(graph_, id, array.error());
      results.push_back(std::move(*array));
    }
    auto bound = bound_.find(id);
    const Attributes& attributes = bound == bound_.end() ? node.attributes : bound->second;
    sample_clock_.begin();
    const ForeignCallScope place(node.location);
    if (Status status = call(*node.op, {attributes, inputs, results, context_}); !status) return at_node(graph_, id, status.error());
    const SampleClock::Sample sample = sample_clock_.end();
    observation_.seconds(id, sample.seconds, sample.preempted);
    for (std::size_t i = 0; i < results.size(); ++i) values_[node.results[i]] = std::move(results[i]);
    return {};
  }

  /// Runs the reference implementation; an exception of a user's function becomes an Error.
  static Status call(const OpDef& op, const OpCall& call) {
    return detail::guard_user("the called function", [&] { return op.reference(call); });
  }

  Status begin_for(NodeId id) {
    const Node& node = graph_.nodes[id];
    Result<std::int64_t> count = trip_count(id);
    if (!count) return count.error();
    initialize(id);
    frames_.push_back({node.regions[0], 0, 0, *count});
    if (*count == 0)
      leave_loop();
    else
      steps_.enter(id);
    return {};
  }

  Result<std::int64_t> trip_count(NodeId id) const {
    const Node& node = graph_.nodes[id];
    if (node.inputs.empty()) return std::max<std::int64_t>(0, node.attributes.get<std::int64_t>("count"));
    const Array& count = values_[node.inputs[0]];
    return checked_trips(graph_, id, count.bytes());
  }

  /// Called at the end of the top frame's region.
  Status end_region() {
    Frame& frame = frames_.back();
    const Region& region = graph_.regions[frame.region];
    switch (region.kind) {
      case RegionKind::root: frames_.pop_back(); return {};
      case RegionKind::then_arm:
      case RegionKind::else_arm: {
        std::size_t arm = region.kind == RegionKind::then_arm ? 0 : 1;
        for (NodeId merge : owned_[region.owner]) {
          const Node& node = graph_.nodes[merge];
          values_[node.results[0]] = values_[node.inputs[arm]];
        }
        frames_.pop_back();
        return {};
      }
      case RegionKind::for_body: {
        bool stop = region.predicate.valid() && truth(region.predicate);
        assign_yields(region.owner);
        frame.trip++;
        frame.next = 0;
        if (!stop && frame.trip < frame.count) {
          steps_.enter(region.owner);
          return check_further_trip(graph_, region.owner, frame.trip);
        }
        leave_loop();
        return {};
      }
      case RegionKind::while_condition:
        if (truth(region.predicate)) {
          if (Status status = check_further_trip(graph_, region.owner, frame.trip); !status) return status;
          frames_.push_back({graph_.nodes[region.owner].regions[1]});
          steps_.enter(region.owner);
        } else {
          leave_loop();
        }
        return {};
      case RegionKind::while_body:
        assign_yields(region.owner);
        frames_.pop_back();
        frames_.back().next = 0;
        frames_.back().trip++;
        return {};
    }
    return {};
  }

  void initialize(NodeId loop) {
    for (NodeId carried : owned_[loop]) {
      const Node& node = graph_.nodes[carried];
      values_[node.results[0]] = values_[node.inputs[0]];
    }
  }

  /// Reads all yielded values before it changes any loop-carried value, so that values can be swapped.
  void assign_yields(NodeId loop) {
    std::vector<Array> yields;
    for (NodeId carried : owned_[loop]) yields.push_back(values_[graph_.nodes[carried].inputs[1]]);
    std::size_t i = 0;
    for (NodeId carried : owned_[loop]) values_[graph_.nodes[carried].results[0]] = std::move(yields[i++]);
  }

  /// The top frame is a loop's (for a while, the condition's): makes its carried values the loop's results and ends it.
  void leave_loop() {
    NodeId loop = graph_.regions[frames_.back().region].owner;
    observation_.control(loop, static_cast<double>(frames_.back().trip));
    steps_.leave(loop);
    for (NodeId carried : owned_[loop]) {
      const Node& node = graph_.nodes[carried];
      values_[node.results[1]] = values_[node.results[0]];
    }
    frames_.pop_back();
  }

  [[nodiscard]] bool truth(ValueId predicate) const { return *values_[predicate].data<bool>(); }

  const Graph& graph_;
  const std::stop_token stop_;
  std::map<NodeId, Array> leaves_;
  BoundAttributes bound_;
  IdVector<ValueId, Array> values_;
  IdVector<NodeId, std::vector<NodeId>> owned_;  ///< carried and merge nodes by owner, in program order
  std::vector<Frame> frames_;
  OpContext context_;
  StepCollector steps_;
  Observation observation_;
  SampleClock sample_clock_;
};

}  // namespace

namespace {

/// The first error among a graph's diagnostics; null if there is none.
const Diagnostic* first_mistake(const Graph& graph) {
  for (const Diagnostic& diagnostic : graph.diagnostics)
    if (diagnostic.severity == Severity::error) return &diagnostic;
  return nullptr;
}

}  // namespace

Result<RunResult> run_reference(const Graph& graph, const RunOptions& options, const std::vector<std::string>& library_paths) {
  const StandardFloats standard;
  const KeptFolder folder;
  return detail::guard_memory([&]() -> Result<RunResult> {
    CLEAVE_CHECK(graph.ok(), "running a graph with errors");
    if (has_gradient_calls(graph)) {
      const Graph differentiated = differentiate(graph);
      if (const Diagnostic* mistake = first_mistake(differentiated)) return Error{mistake->message, mistake->location, ErrorKind::user};
      return run_reference(differentiated, options, library_paths);
    }
    auto start = std::chrono::steady_clock::now();
    Result<BoundAttributes> bound = load_host_functions(graph, library_paths);
    if (!bound) return bound.error();
    Result<std::map<NodeId, Array>> leaves = bind_leaves(graph, options);
    if (!leaves) return leaves.error();
    if (Status status = check_results(graph, options, *leaves); !status) return status.error();
    Walk walk(graph, options, std::move(*leaves), std::move(*bound));
    const Status walked = walk.run(), logged = walk.finish_steps();
    if (!walked) return walked.error();
    if (!logged) return logged.error();
    RunResult result;
    result.steps = walk.steps();
    const std::vector<bool> count = count_outputs(graph);
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const Output& output = graph.outputs[i];
      Result<Array> array = cut_to_lengths(graph, output, deliver(options, output.name, walk.value(output.value)),
                                           [&](ValueId value) { return walk.value(value); });
      if (!array) return array.error();
      (count[i] ? result.counts : result.outputs).emplace_back(output.name, *std::move(array));
    }
    if (options.observe) result.observed = walk.observed();
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  });
}

}  // namespace cleave::runtime
