// Measures the recording of one operation.
#include <benchmark/benchmark.h>

#include "tools/bench/programs.h"

namespace cleave::bench {
namespace {

void trace(benchmark::State& state) {
  std::size_t nodes = 0;
  for (auto _ : state) {
    const Graph graph = training_program(state.range(0));
    nodes += graph.nodes.size();
    benchmark::DoNotOptimize(graph.nodes.size());
  }
  state.counters["per_node"] = benchmark::Counter(static_cast<double>(nodes), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(trace)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cleave::bench
