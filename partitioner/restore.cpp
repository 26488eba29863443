#include "partitioner/restore.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "graph/base/content_hash.h"
#include "graph/base/exceptions.h"
#include "graph/base/float_environment.h"
#include "partitioner/advice/cures.h"
#include "partitioner/apply/host_flow.h"
#include "partitioner/apply/lower_bound.h"
#include "partitioner/apply/predict.h"
#include "partitioner/apply/producers.h"
#include "partitioner/apply/worked_out_plan.h"
#include "partitioner/machine/placed_fusion.h"
#include "partitioner/report/diagnostics.h"

namespace cleave::planner {
namespace {

Error broken(const std::string& rule) {
  return {"the decisions break a rule: " + rule, {}, ErrorKind::file};
}

std::string hash_of(const Program& program) {
  ContentHash hash;
  hash.add(print(program));
  return hash.text();
}

/// The rule that a group of one side breaks, or an empty text. `grouped` marks the nodes of earlier groups.
std::string broken_rule(const Graph& graph, const FusibleGroup& group, std::vector<char>& grouped) {
  const std::size_t count = group.nodes.size();
  if (count < 2 || group.pulled >= count) return "a kernel of several operations has fewer than two";
  if (group.must_hide.size() != count || (!group.waiting.empty() && group.waiting.size() != count))
    return "a kernel's marks are incomplete";
  if (group.waits(count - 1)) return "a kernel ends with an operation that waits";
  for (std::size_t i = 0; i < count; ++i) {
    const NodeId id = group.nodes[i];
    if (id.index >= graph.nodes.size()) return "a kernel has a node that the program lacks";
    const Node& node = graph.nodes[id];
    if (node.kind != NodeKind::operation || node.results.size() != 1 || node.host_function() || graph.purity(id) == Purity::effect)
      return "`" + graph.display_name(id) + "` cannot be a part of a kernel";
    if (std::exchange(grouped[id.index], 1) != 0) return "`" + graph.display_name(id) + "` is in two kernels";
  }
  const RegionId region = graph.nodes[group.nodes.back()].region;
  for (std::size_t i = 0; i < count; ++i) {
    const Node& node = graph.nodes[group.nodes[i]];
    if (i < group.pulled ? !graph.within(region, node.region) : node.region != region)
      return "a kernel's operations are in several regions";
    for (const ValueId input : node.inputs) {
      const auto later = std::find(group.nodes.begin() + static_cast<std::ptrdiff_t>(i), group.nodes.end(), graph.values[input].producer);
      if (later != group.nodes.end()) return "a kernel reads a value before it computes it";
    }
  }
  return {};
}

Status check_groups(const Graph& graph, const FusibleGroups& groups) {
  if (groups.size() != 2) return broken("there are kernels of " + std::to_string(groups.size()) + " sides");
  for (const std::vector<FusibleGroup>& side : groups) {
    std::vector<char> grouped(graph.nodes.size(), 0);
    for (const FusibleGroup& group : side)
      if (std::string rule = broken_rule(graph, group, grouped); !rule.empty()) return broken(rule);
  }
  return {};
}

class Restorer {
 public:
  Restorer(std::shared_ptr<const Graph> graph, Decisions decisions, const PlanOptions& options)
      : decisions_(std::move(decisions)), options_(options) {
    plan_.graph = std::move(graph);
    plan_.machine = options.costs.machine;
    plan_.policy = options.costs.policy;
    plan_.precision = options.costs.precision;
    plan_.profile = options.costs.profile;
    plan_.find_peak = options.find_peak;
  }

  Result<Plan> run() {
    Status done = timed("costs", [this] { return find_costs(); });
    if (done) done = timed("transfers-and-split", [this] { return work_out_program(); });
    if (done) done = timed("adopt", [this] { return adopt(); });
    if (!done) return done.error();
    if (options_.accounts) say_all();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const Graph& graph() const { return *plan_.graph; }

  template <class Step>
  Status timed(const char* name, const Step& step) {
    const auto start = std::chrono::steady_clock::now();
    Status done = step();
    plan_.times.push_back({name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()});
    return done;
  }

  Status find_costs() {
    if (Status good = check_groups(graph(), decisions_.fusible); !good) return good;
    Diagnostics refused;
    plan_.costed = make_problem(graph(), options_.costs, std::move(decisions_.fusible), refused);
    for (const Diagnostic& diagnostic : refused)
      if (diagnostic.severity == Severity::error) return Error{diagnostic.message, diagnostic.location, ErrorKind::file};
    for (const NodeId node : decisions_.kept_off) {
      if (node.index >= graph().nodes.size()) return broken("a node is kept off the accelerator that the program lacks");
      plan_.costed.forced[node.index] = Cause::memory;
    }
    plan_.costed.problem.accelerator_memory_bytes = decisions_.capacity_bytes;
    return {};
  }

  Status work_out_program() {
    const std::size_t count = graph().nodes.size() + 1;
    const auto marks = [](const std::vector<std::uint8_t>& side) {
      return std::all_of(side.begin(), side.end(), [](std::uint8_t mark) { return mark <= 1; });
    };
    if (decisions_.on_host.size() != count || decisions_.on_accelerator.size() != count || !marks(decisions_.on_host) ||
        !marks(decisions_.on_accelerator))
      return broken("the placement has another number of nodes than the program");
    for (std::size_t i = 0; i < count; ++i)
      if (decisions_.on_host[i] == 0 && decisions_.on_accelerator[i] == 0) return broken("a node has no copy");
    Placement placement = evaluate(plan_.costed.problem, std::move(decisions_.on_host), std::move(decisions_.on_accelerator));
    placement = with_bound(std::move(placement), decisions_.bound_seconds);
    if (const std::vector<std::string> rules = verify(plan_.costed.problem, placement); !rules.empty()) return broken(rules.front());
    const double memory = plan_.machine.accelerators.empty() ? 0 : plan_.machine.accelerators[0].memory_bytes;
    const auto fits = [&](const Program& program) { return fits_memory(program, options_.find_peak, memory); };
    chosen_ = work_out({plan_.graph, plan_.costed, fits}, std::move(placement));
    return give_depths();
  }

  /// The depths of channels as they were planned. A schedule at other depths than the default ones is another one.
  Status give_depths() {
    Program& program = chosen_.program;
    if (decisions_.depths.size() != program.channels.size())
      return broken("there are depths of " + std::to_string(decisions_.depths.size()) + " channels, and the program has " +
                    std::to_string(program.channels.size()));
    bool changed = false;
    for (std::size_t i = 0; i < decisions_.depths.size(); ++i) {
      const int depth = decisions_.depths[i];
      if (depth < 1 || depth > kMostGivenDepth) return broken("a channel has the depth " + std::to_string(depth));
      int& own = program.channels[ChannelId(i)].depth;
      changed = changed || own != depth;
      own = depth;
    }
    if (const std::vector<std::string> rules = verify(program); !rules.empty()) return broken(rules.front());
    if (hash_of(program) != decisions_.program) return broken("they give another program than when they were made");
    if (changed) chosen_.schedule = predict(program, chosen_.transfers, plan_.costed);
    return {};
  }

  Status adopt() {
    plan_.placement = std::move(chosen_.placement);
    plan_.transfers = std::move(chosen_.transfers);
    plan_.program = std::move(chosen_.program);
    plan_.transfer_times = chosen_.schedule.transfers;
    plan_.predicted_seconds = chosen_.schedule.seconds;
    plan_.predicted_wait_seconds = chosen_.schedule.waiting.empty() ? 0 : chosen_.schedule.waiting.front().wait_seconds;
    plan_.all_host_seconds = decisions_.all_host_seconds;
    plan_.all_accelerator_seconds = decisions_.all_accelerator_seconds;
    plan_.all_host_predicted_seconds = decisions_.all_host_predicted_seconds;
    plan_.all_accelerator_predicted_seconds = decisions_.all_accelerator_predicted_seconds;
    plan_.all_accelerator_in_part = decisions_.all_accelerator_in_part;
    plan_.depths.slot_bytes = slot_bytes(plan_.program);
    plan_.depths.memory_bytes = plan_.machine.host.memory_bytes;
    plan_.depths.given = options_.channel_depth;
    return {};
  }

  /// The messages about a plan for which no other plan has to be tried.
  void say_all() {
    plan_.data = find_produced_data(plan_.program, plan_.transfers, plan_.costed, chosen_.schedule);
    const HostFlow flow(graph(), *plan_.costed.uses, plan_.placement, plan_.transfers);
    plan_.round_trips = find_round_trips(graph(), plan_.costed, plan_.placement, plan_.transfers, flow);
    find_hidden(plan_.program, plan_.costed, plan_.transfers, plan_.round_trips);
    plan_.account = find_account(plan_.program, plan_.costed, plan_.transfers, plan_.round_trips, flow);
    TriedEdits untried;
    untried.round_trips.resize(plan_.round_trips.size());
    Diagnosis diagnosis = diagnose(plan_, chosen_.schedule, untried, options_.diagnostics);
    plan_.diagnostics.append(diagnosis.diagnostics);
    plan_.advice = std::move(diagnosis.advice);
  }

  static constexpr int kMostGivenDepth = 1 << 20;

  Decisions decisions_;
  const PlanOptions& options_;
  Plan plan_;
  WorkedOutPlan chosen_;
};

}  // namespace

Decisions decisions_of(const Plan& plan) {
  Decisions decisions;
  decisions.on_host = plan.placement.on_host;
  decisions.on_accelerator = plan.placement.on_accelerator;
  decisions.fusible = plan.costed.fusible;
  for (const Channel& channel : plan.program.channels) decisions.depths.push_back(channel.depth);
  for (std::size_t i = 0; i < plan.costed.forced.size(); ++i)
    if (plan.costed.forced[i] == Cause::memory) decisions.kept_off.emplace_back(i);
  decisions.capacity_bytes = plan.costed.problem.accelerator_memory_bytes;
  decisions.bound_seconds = plan.placement.bound_seconds;
  decisions.all_host_seconds = plan.all_host_seconds;
  decisions.all_accelerator_seconds = plan.all_accelerator_seconds;
  decisions.all_host_predicted_seconds = plan.all_host_predicted_seconds;
  decisions.all_accelerator_predicted_seconds = plan.all_accelerator_predicted_seconds;
  decisions.all_accelerator_in_part = plan.all_accelerator_in_part;
  decisions.program = hash_of(plan.program);
  return decisions;
}

Result<Plan> restore(std::shared_ptr<const Graph> graph, Decisions decisions, const PlanOptions& options) {
  const StandardFloats standard;
  return detail::guard_memory([&] { return Restorer(std::move(graph), std::move(decisions), options).run(); });
}

}  // namespace cleave::planner
