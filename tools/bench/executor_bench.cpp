// Measures the executor's overhead for each step and each run: chains of tiny operations, on the host and on the simulated accelerator.
#include <benchmark/benchmark.h>

#include <span>
#include <vector>

#include "executor/api/wiring.h"
#include "graph/base/check.h"
#include "partitioner/compile.h"
#include "tools/bench/programs.h"

namespace cleave::bench {

using namespace planner;
namespace {

Array filled(float value) {
  const std::vector<float> values(16, value);
  return Array::of<float>({16}, std::span<const float>(values));
}

/// Runs a chain of `state.range(0)` operations again and again on one executor.
void repeat(benchmark::State& state, bool on_host) {
  const std::int64_t length = state.range(0);
  const Result<runtime::Wiring> wiring = runtime::wire({.device = "simulated"});
  CLEAVE_CHECK(wiring.ok());
  const Plan planned = planner::plan(tiny_chain(length, on_host), wiring->plan);
  CLEAVE_CHECK(planned.ok());
  auto executor = runtime::make_executor(planned, wiring->executor);
  CLEAVE_CHECK(executor.ok());
  RunOptions run;
  run.inputs.emplace("x", filled(1.0F));
  run.inputs.emplace("step", filled(2.0F));
  for (auto _ : state) {
    const auto result = (*executor)->run(run);
    CLEAVE_CHECK(result.ok());
    benchmark::DoNotOptimize(result->seconds);
  }
}

void chain(benchmark::State& state, bool on_host) {
  repeat(state, on_host);
  state.counters["per_step"] = benchmark::Counter(static_cast<double>(state.range(0)) * static_cast<double>(state.iterations()),
                                                  benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(chain, host, true)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(chain, simulated_accelerator, false)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Counts runs per second of a program with negligible work.
void runs(benchmark::State& state, bool on_host) {
  repeat(state, on_host);
  state.counters["runs"] = benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(runs, host, true)->Arg(1)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK_CAPTURE(runs, simulated_accelerator, false)->Arg(1)->Unit(benchmark::kMicrosecond)->UseRealTime();

/// A program with a large value `x`, copied in chunks of `range(0)` MiB. The virtual clock shows the time on a machine whose copies need no
/// core.
void large(benchmark::State& state, Graph (*program)(std::int64_t rows)) {
  Result<runtime::Wiring> wiring = runtime::wire({.device = "simulated"});
  CLEAVE_CHECK(wiring.ok());
  const Plan planned = planner::plan(program(4096), wiring->plan);
  CLEAVE_CHECK(planned.ok());
  wiring->executor.part_bytes = state.range(0) << 20;
  auto executor = runtime::make_executor(planned, wiring->executor);
  CLEAVE_CHECK(executor.ok());
  RunOptions run;
  run.inputs.emplace("x", Array(TensorType{DType::f32, {4096, 2048}}));
  double seconds = 0;
  for (auto _ : state) {
    const auto result = (*executor)->run(run);
    CLEAVE_CHECK(result.ok());
    seconds = result->simulated_seconds;
  }
  state.counters["virtual_ms"] = 1e3 * seconds;
  state.counters["predicted_ms"] = 1e3 * planned.predicted_seconds;
}
/// The host computes and sends the value; it is returned and reduced.
BENCHMARK_CAPTURE(large, there_and_back, large_values)->Arg(1)->Arg(2)->Arg(8)->Arg(64)->Unit(benchmark::kMillisecond)->UseRealTime();
/// The accelerator reads the value, element by element and in rows.
BENCHMARK_CAPTURE(large, taken, large_argument)->Arg(2)->Arg(8)->Arg(64)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace cleave::bench
