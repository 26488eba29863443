#include "executor/api/saved_plan.h"

#include <utility>

#include "executor/api/back_ends.h"
#include "executor/api/executable_state.h"
#include "executor/run/prepare/keep_constants.h"
#include "graph/base/exceptions.h"
#include "graph/base/float_environment.h"
#include "graph/passes/renumber.h"
#include "graph/states.h"

namespace cleave {
namespace runtime {
namespace {

using planner::Decisions;
using planner::PlanFile;
using planner::PlanSettings;

Error in_file(const std::string& path, const std::string& message) {
  return {path + ": " + message, {}, ErrorKind::file};
}

/// The decisions by the numbers that the nodes get in program order.
Decisions renumbered(Decisions decisions, const std::vector<NodeId>& order) {
  IdVector<NodeId, NodeId> number(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = NodeId(i);
  for (std::vector<std::uint8_t>* side : {&decisions.on_host, &decisions.on_accelerator}) {
    const std::vector<std::uint8_t> before = *side;
    for (std::size_t i = 0; i < order.size(); ++i) (*side)[i] = before[order[i].index];
  }
  for (std::vector<FusibleGroup>& side : decisions.fusible)
    for (FusibleGroup& group : side)
      for (NodeId& node : group.nodes) node = number[node];
  for (NodeId& node : decisions.kept_off) node = number[node];
  return decisions;
}

/// An Error for a function that no file can name.
Status check_functions(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    const HostFunction* function = node.host_function();
    if (function && function->library.empty())
      return Error{"`" + function->name + "` is a function of this process, and a plan file can only name functions of libraries",
                   node.location, ErrorKind::usage};
  }
  return {};
}

/// The options of compile() with which the plan was made, for this call.
Result<CompileOptions> compile_options(const std::string& path, const PlanSettings& settings, const LoadOptions& load) {
  const std::string kind = load.device.substr(0, load.device.find(':'));
  if (!load.device.empty() && kind != settings.device)
    return in_file(path, "the plan is for the device `" + settings.device + "`, not for `" + load.device + "`; `cleave compile --device " +
                             kind + "` makes one for that");
  CompileOptions options;
  options.device = load.device.empty() ? settings.device : load.device;
  options.machine = load.machine;
  options.placement = settings.policy;
  options.diagnostics = load.diagnostics;
  options.accelerator_memory_bytes = settings.accelerator_memory_bytes;
  options.profile = settings.profile;
  options.executor = load.executor;
  options.executor.precision = settings.precision;
  options.executor.workers = settings.workers;
  options.executor.fuse = settings.fuses;
  options.executor.channel_capacity = settings.channel_depth;
  return options;
}

/// Sets the machine of the plan, after comparing it with the one that this process would plan for.
Status use_machine(const std::string& path, const PlanSettings& settings, const LoadOptions& load, Machine& machine) {
  const std::string own = to_yaml(machine);
  if (own == settings.machine) return {};
  Result<Machine> planned = Machine::parse(settings.machine, path);
  if (!planned) return in_file(path, "its machine is damaged: " + planned.error().message);
  if (settings.machine_given && load.machine.empty()) {
    machine = *std::move(planned);
    return {};
  }
  const bool same_name = planned->name == machine.name;
  return in_file(path, std::string("the plan was made for ") + (same_name ? "another state of the machine `" : "the machine `") +
                           planned->name + (same_name ? "` than its machine file has now" : "`, and this is `" + machine.name + "`") +
                           "; `cleave compile` makes it again");
}

}  // namespace

PlanSettings plan_settings(const CompileOptions& options, const Wiring& wiring) {
  PlanSettings settings;
  settings.device = std::string(wiring.executor.back_end.name);
  settings.machine = to_yaml(wiring.plan.costs.machine);
  settings.machine_given = !options.machine.empty();
  settings.policy = wiring.plan.costs.policy;
  settings.precision = wiring.plan.costs.precision;
  settings.workers = wiring.plan.costs.workers;
  settings.host_threads = wiring.plan.costs.host_threads;
  settings.channel_depth = wiring.plan.channel_depth;
  settings.accelerator_memory_bytes = options.accelerator_memory_bytes;
  settings.fuses = options.executor.fuse;
  settings.profile = wiring.plan.costs.profile;
  return settings;
}

Result<SavedPlan> read_saved_plan(const std::string& path, const LoadOptions& options) {
  Result<PlanFile> file = planner::read_plan_file(path, {.source_roots = options.source_roots, .checks_data = options.checks_data});
  if (!file) return file.error();
  if (options.model) {
    if (file->model.empty()) return in_file(path, "the plan does not say of which model it was made");
    if (planner::graph_hash(*options.model) != file->model)
      return in_file(path, "the plan was made of another model, or with other sizes; `cleave compile` makes it again");
  }
  const Result<CompileOptions> compile = compile_options(path, file->settings, options);
  if (!compile) return compile.error();
  Result<Wiring> wiring = wire(*compile);
  if (!wiring && options.device.empty() && wiring.error().kind == ErrorKind::usage) return in_file(path, wiring.error().message);
  if (!wiring) return wiring.error();
  if (Status same = use_machine(path, file->settings, options, wiring->plan.costs.machine); !same) return same.error();
  wiring->plan.costs.host_threads = file->settings.host_threads;
  wiring->plan.accounts = options.accounts;
  wiring->plan.tries_workers = false;
  Result<Plan> plan = planner::restore(file->graph, std::move(file->decisions), wiring->plan);
  if (!plan) return plan.error().location.known() ? plan.error() : in_file(path, plan.error().message);
  wiring->executor.constants = std::make_shared<SharedConstants>();
  for (PlanFile::Derived& derived : file->derived)
    wiring->executor.constants->offer(derived.constant, derived.form, derived.bytes, std::move(derived.data));
  return SavedPlan{*std::move(plan), *std::move(wiring), std::move(file->settings)};
}

Status save_plan(const std::string& path, const Plan& plan, const PlanSettings& settings, int threads, const Graph* model) {
  if (!is_plan_path(path)) return Error{"`" + path + "`: the name of a plan file ends in `.plan`", {}, ErrorKind::usage};
  if (Status named = check_functions(*plan.graph); !named) return named;
  PlanFile file;
  if (model) file.model = planner::graph_hash(*model);
  file.settings = settings;
  file.decisions = renumbered(planner::decisions_of(plan), program_order(*plan.graph).nodes);
  file.graph = plan.graph;
  SharedConstants constants;
  const std::vector<std::unique_ptr<HostKernel>> kernels = keep_constants(plan.program, settings.fuses, threads, constants);
  for (SharedConstants::Derived& derived : constants.all_derived())
    file.derived.push_back({derived.constant, std::move(derived.form), derived.bytes, std::move(derived.data)});
  return planner::write_plan_file(path, file);
}

}  // namespace runtime

Status Executable::save(const std::string& path, const Graph* model) const {
  return detail::guard_memory([&]() -> Status {
    if (state_->save_points)
      return Error{"a program with points at which it saves its states cannot be in a plan file", {}, ErrorKind::usage};
    return runtime::save_plan(path, state_->plan, state_->settings, state_->setup.threads, model);
  });
}

Result<Executable> load_plan(const std::string& path, const LoadOptions& options) {
  const StandardFloats standard;
  return detail::guard_memory([&]() -> Result<Executable> {
    Result<runtime::SavedPlan> saved = runtime::read_saved_plan(path, options);
    if (!saved) return saved.error();
    auto state = std::make_shared<Executable::State>();
    state->plan = std::move(saved->plan);
    state->settings = std::move(saved->settings);
    state->setup = std::move(saved->wiring.executor);
    state->idle_executors = static_cast<std::size_t>(std::max(options.idle_executors, 0));
    state->has_states = !states_of(*state->plan.graph).empty();
    state->runs_at_once = std::max(options.runs_at_once, 1);
    Result<std::unique_ptr<runtime::Executor>> first = state->take();
    if (!first) return first.error();
    state->put_back(std::move(*first));
    return Executable(std::move(state));
  });
}

}  // namespace cleave
