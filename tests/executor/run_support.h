// Support for the executor's tests: plans of every kind for a graph, runs with captured output, and the comparison with the reference
// executor.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "executor/check/compare.h"
#include "executor/check/reference.h"
#include "executor/device/kernel.h"
#include "executor/run/executor.h"
#include "executor/simulated/back_end.h"
#include "graph/states.h"
#include "partitioner/apply/schedule.h"
#include "partitioner/apply/split.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_graph.h"

namespace cleave::testing {

inline CostModel simulated_costs() {
  CostModel model;
  model.machine = *Machine::shipped("simulated");
  model.supported = simulated::back_end().supports;
  model.host_fuses = host_fuses;
  model.accelerator_fuses = simulated::back_end().fuses;
  return model;
}

enum class Where { host, accelerator, optimal, random };

struct Planned {
  Transfers transfers;
  std::shared_ptr<const Program> program;
  StepCosts costs;
};

/// An executor's setup with the simulated accelerator.
inline ExecutorSetup simulated_setup(ExecutorOptions options = {}) {
  return {std::move(options), simulated::back_end(), 0};
}

inline Placement place(const PlacementProblem& problem, Where where, std::uint64_t seed) {
  if (where == Where::optimal) return *solve(problem);
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> host(problem.nodes.size()), accelerator(problem.nodes.size());
  std::map<std::int32_t, PlacementProblem::Node> groups;  // properties that hold for all members of a group
  for (const PlacementProblem::Node& node : problem.nodes) {
    PlacementProblem::Node& group = groups.try_emplace(node.group, node).first->second;
    if (node.pin != PlacementProblem::Pin::none) group.pin = node.pin;
    group.replicable &= node.replicable;
  }
  std::map<std::int32_t, std::uint64_t> choices;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const bool grouped = problem.nodes[i].group != PlacementProblem::kNoGroup;
    const PlacementProblem::Node& node = grouped ? groups.at(problem.nodes[i].group) : problem.nodes[i];
    std::uint64_t choice = where == Where::random ? random() % 4 : where == Where::host ? 0 : 2;
    if (grouped) choice = choices.try_emplace(node.group, choice).first->second;
    accelerator[i] = node.pin == PlacementProblem::Pin::accelerator || (node.pin == PlacementProblem::Pin::none && choice != 0);
    host[i] = !accelerator[i] || (node.replicable && choice == 1);
  }
  return evaluate(problem, host, accelerator);
}

/// `ahead` as for split().
inline Planned plan_with(const CostModel& model, std::shared_ptr<const Graph> graph, Where where, std::uint64_t seed = 0,
                         std::size_t ahead = kAllAhead) {
  Diagnostics diagnostics;
  const CostedProblem costed = make_problem(*graph, model, diagnostics);
  const Placement placement = place(costed.problem, where, seed);
  Planned planned;
  planned.transfers = make_transfers(*graph, costed, placement);
  planned.program = std::make_shared<const Program>(split(graph, *costed.uses, placement, planned.transfers, ahead, costed.fusible));
  planned.costs = step_costs(*planned.program, costed, model.machine);
  return planned;
}

inline Planned plan_for(std::shared_ptr<const Graph> graph, Where where, std::uint64_t seed = 0, std::size_t ahead = kAllAhead) {
  return plan_with(simulated_costs(), std::move(graph), where, seed, ahead);
}

inline std::unique_ptr<Executor> executor_for(const Planned& planned, const ExecutorSetup& setup = simulated_setup()) {
  Result<std::unique_ptr<Executor>> executor = Executor::create(planned.program, planned.costs, setup);
  if (executor) return std::move(*executor);
  ADD_FAILURE() << executor.error().message;
  return nullptr;
}

/// Converts the planner's result for executor_for.
inline Planned as_planned(const Plan& plan) {
  return {plan.transfers, std::make_shared<const Program>(plan.program), step_costs(plan.program, plan.costed, plan.machine)};
}

/// One run and the lines that it printed.
struct Outcome {
  Result<RunResult> result = Error{"not run", {}, ErrorKind::user};
  std::vector<std::string> lines;
  double reduction_length = 1000;  ///< the tolerance of inexact numbers, as in executor/check/compare.h
};

template <class Run>
Outcome run_with(RunOptions options, Run&& run) {
  Outcome outcome;
  options.print = [&outcome](std::string_view line) { outcome.lines.emplace_back(line); };
  outcome.result = run(options);
  return outcome;
}

/// A random program with the oracle's outcome and the effects that its host functions noted.
struct RandomProgram {
  std::shared_ptr<EffectLog> log = std::make_shared<EffectLog>();  ///< log of the latest run; must be cleared before each run
  std::shared_ptr<const Graph> graph;
  RunOptions options;
  Outcome expected;
  std::vector<std::string> effects;

  explicit RandomProgram(std::uint64_t seed) {
    RandomGraphOptions graph_options;
    graph_options.log = log;
    graph = std::make_shared<const Graph>(random_graph(seed, graph_options));
    options.inputs = random_inputs(*graph, seed);
    expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
    effects = log->lines;
  }
};

/// The tolerance of f64 numbers that are computed from f32 numbers: some units in the last place of f32.
inline Array roundings_of_f32(const Array& expected) {
  Array slack(TensorType{DType::f64, expected.shape()});
  for (std::int64_t i = 0; i < slack.size(); ++i) slack.mutable_data<double>()[i] = 4 * FLT_EPSILON * std::fabs(expected.at(i));
  return slack;
}

/// The outcome of the reference executor without states, which a run of an executor does not return.
inline Outcome without_states(Outcome outcome, const Graph& graph) {
  if (!outcome.result) return outcome;
  std::vector<std::pair<std::string, Array>> outputs;
  const std::vector<bool> states = state_outputs(graph);
  for (std::size_t o = 0; o < states.size(); ++o)
    if (!states[o]) outputs.push_back(std::move(outcome.result->outputs[o]));
  outcome.result->outputs = std::move(outputs);
  return outcome;
}

/// The number of runs in a row that tests compare with one outcome: a program whose states change has another one in each run.
inline int equal_runs(const Graph& graph) {
  const std::vector<GraphState> states = states_of(graph);
  return std::any_of(states.begin(), states.end(), [](const GraphState& state) { return !state.fixed(); }) ? 1 : 2;
}

inline void expect_equal(const Outcome& is, const Outcome& should, bool exact) {
  ASSERT_EQ(is.result.ok(), should.result.ok()) << (is.result.ok() ? should.result.error() : is.result.error()).message;
  ASSERT_EQ(is.lines.size(), should.lines.size());
  if (!is.result.ok()) {
    EXPECT_EQ(is.result.error().message, should.result.error().message);
    EXPECT_EQ(is.result.error().location, should.result.error().location);
    return;
  }
  ASSERT_EQ(is.result->outputs.size(), should.result->outputs.size());
  for (std::size_t i = 0; i < is.result->outputs.size(); ++i) {
    const auto& [name, array] = is.result->outputs[i];
    const Array& other = should.result->outputs[i].second;
    if (exact) {
      EXPECT_TRUE(array == other) << name << ": " << to_string(array) << " instead of " << to_string(other);
    } else {
      const Array slack = other.dtype() == DType::f64 ? roundings_of_f32(other) : Array();
      EXPECT_EQ(difference(array, other, should.reduction_length, other.dtype() == DType::f64 ? &slack : nullptr).value_or(""), "") << name;
    }
  }
}

}  // namespace cleave::testing
