// Measures planning: the minimum cut alone, and the whole way from a traced graph to its program.
#include <benchmark/benchmark.h>

#include "graph/base/check.h"
#include "graph/passes/simplify.h"
#include "partitioner/apply/memory_fit.h"
#include "partitioner/compile.h"
#include "tools/bench/programs.h"

namespace cleave::bench {

using namespace planner;
namespace {

PlanOptions options() {
  PlanOptions result;
  auto machine = Machine::shipped("simulated");
  CLEAVE_CHECK(machine.ok());
  result.costs.machine = *std::move(machine);
  return result;
}

void per_node(benchmark::State& state, std::size_t nodes) {
  state.counters["nodes"] = static_cast<double>(nodes);
  state.counters["per_node"] = benchmark::Counter(static_cast<double>(nodes) * static_cast<double>(state.iterations()),
                                                  benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void placement(benchmark::State& state) {
  const Graph graph = training_program(state.range(0));
  Diagnostics diagnostics;
  const CostedProblem costed = make_problem(graph, options().costs, diagnostics);
  for (auto _ : state) {
    const auto solved = solve(costed.problem);
    CLEAVE_CHECK(solved.ok());
    benchmark::DoNotOptimize(solved->objective_seconds);
  }
  per_node(state, graph.nodes.size());
}
BENCHMARK(placement)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void whole_plan(benchmark::State& state) {
  const Graph graph = training_program(state.range(0));
  const PlanOptions plan_options = options();
  for (auto _ : state) {
    const Plan result = plan(graph, plan_options);
    CLEAVE_CHECK(result.ok());
    benchmark::DoNotOptimize(result.placement.objective_seconds);
  }
  per_node(state, graph.nodes.size());
}
BENCHMARK(whole_plan)->Arg(500)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

/// A program that exceeds the accelerator's memory: the planner computes several placements until one fits.
void plan_over_memory(benchmark::State& state) {
  const Graph graph = training_program(state.range(0), 512);
  PlanOptions plan_options = options();
  const Plan unlimited = plan(graph, plan_options);
  plan_options.costs.machine.accelerators[0].memory_bytes = peak_without_sharing(unlimited.program, kAccelerator).bytes / 2;
  double gap = 0;
  for (auto _ : state) {
    const Plan result = plan(graph, plan_options);
    CLEAVE_CHECK(result.ok());
    gap = result.placement.gap;
  }
  per_node(state, graph.nodes.size());
  state.counters["gap"] = gap;
}
BENCHMARK(plan_over_memory)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cleave::bench
