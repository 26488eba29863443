// Benchmarks of the solver alone, on problems shaped like real programs: ours with its reductions, and Boost's Boykov-Kolmogorov without.
#include <benchmark/benchmark.h>

#include "graph/base/check.h"
#include "partitioner/advice/advise.h"
#include "partitioner/solver/placement.h"
#include "tools/bench/graph_families.h"

namespace cleave::bench {

using namespace planner;
namespace {

void solver(benchmark::State& state, Family family, SolveOptions options) {
  const PlacementProblem problem = make_problem(family, static_cast<std::int32_t>(state.range(0)));
  for (auto _ : state) {
    auto placement = solve(problem, options);
    CLEAVE_CHECK(placement.ok() && placement->gap == 0);
    benchmark::DoNotOptimize(placement);
  }
  state.counters["nodes"] = static_cast<double>(problem.nodes.size());
  state.counters["per_node"] = benchmark::Counter(static_cast<double>(problem.nodes.size()) * static_cast<double>(state.iterations()),
                                                  benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void advice(benchmark::State& state) {
  const PlacementProblem problem = make_problem(Family::training, 100000);
  std::vector<std::int32_t> host_only;
  for (std::size_t i = 0; i < problem.nodes.size() && host_only.size() < 100; ++i) {
    const auto& node = problem.nodes[i];
    if (node.pin == PlacementProblem::Pin::host && node.host_seconds > 0) host_only.push_back(static_cast<std::int32_t>(i));
  }
  for (auto _ : state) {
    auto answer = kernel_savings(problem, host_only);
    CLEAVE_CHECK(answer.ok());
    benchmark::DoNotOptimize(answer);
  }
}
BENCHMARK(advice)->Name("solver/advise_100_of_100k")->Unit(benchmark::kMillisecond);

const SolveOptions kBoost{.solver = Solver::boost, .reduce = false};
BENCHMARK_CAPTURE(solver, training, Family::training, SolveOptions{})
    ->RangeMultiplier(10)
    ->Range(10000, 1000000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solver, training_boost, Family::training, kBoost)->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solver, training_slow_link, Family::training_slow_link, SolveOptions{})
    ->RangeMultiplier(10)
    ->Range(10000, 1000000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solver, training_slow_link_boost, Family::training_slow_link, kBoost)->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solver, layered, Family::layered, SolveOptions{})
    ->RangeMultiplier(10)
    ->Range(10000, 1000000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solver, layered_boost, Family::layered, kBoost)->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solver, recurrent, Family::recurrent, SolveOptions{})
    ->RangeMultiplier(10)
    ->Range(10000, 1000000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solver, recurrent_boost, Family::recurrent, kBoost)->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solver, contested, Family::contested, SolveOptions{})
    ->RangeMultiplier(10)
    ->Range(10000, 1000000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solver, contested_boost, Family::contested, kBoost)->Arg(1000000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cleave::bench
