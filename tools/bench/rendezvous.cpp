#include "tools/bench/rendezvous.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <span>
#include <thread>

#include "executor/api/wiring.h"
#include "executor/cuda/back_end.h"
#include "graph/base/check.h"
#include "graph/ops/ops.h"
#include "graph/trace/host_call.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "tools/bench/programs.h"

namespace cleave::bench {

using namespace planner;
using namespace runtime;
namespace {

constexpr std::int64_t kLargeBytes = 4 << 20;

StubGpu::Counts difference(const StubGpu::Counts& after, const StubGpu::Counts& before) {
  StubGpu::Counts made;
  for (const auto& [name, count] : after) {
    const auto old = before.find(name);
    if (const std::int64_t more = count - (old == before.end() ? 0 : old->second); more > 0) made.emplace(name, more);
  }
  return made;
}

/// Runs the program repeatedly on a stub, with every supported node on the accelerator; returns the costs of the run with the least `of`.
RunCosts best_run(const Graph& graph, const StubSetting& setting, bool stream_mode, double RunCosts::*of, std::int64_t part_bytes = 0) {
  const StubGpu::CallSeconds call_seconds = StubGpu::measure_calls(setting.traits);
  StubGpu stub(setting.traits);
  CompileOptions options;
  options.device = "simulated";
  options.placement = Policy::accelerator;
  Result<Wiring> wiring = wire(options);
  CLEAVE_CHECK(wiring.ok());
  wiring->plan.costs.accelerator_fuses = cuda::fuses;
  Plan planned = plan(graph, wiring->plan);
  CLEAVE_CHECK(planned.ok());
  planned.costed.start_seconds = setting.traits.launch_seconds;  // a kernel's launch time is its whole cost here
  cuda::CudaOptions cuda;
  cuda.streams.cores = setting.cores;
  cuda.stream_mode = stream_mode;
  ExecutorSetup setup{{}, cuda::back_end(), 0};
  setup.back_end.open = StubGpu::opener(cuda);
  if (part_bytes > 0) setup.part_bytes = part_bytes;
  const Result<std::unique_ptr<Executor>> executor = make_executor(planned, setup);
  CLEAVE_CHECK(executor.ok(), "an executor on the stub");
  RunOptions run;
  for (const Node& node : graph.nodes)
    if (node.kind == NodeKind::input) run.inputs.emplace(graph.values[node.results[0]].name, Array(graph.values[node.results[0]].type));
  RunCosts best;
  for (int i = 0; i <= setting.runs; ++i) {
    const StubGpu::Counts calls = StubGpu::counts();
    const std::vector<double> busy = stub.streams().busy_seconds();
    const double others = stub.other_threads_seconds(), host = thread_seconds(), thread = stub.streams().processor_seconds();
    const auto start = std::chrono::steady_clock::now();
    const Result<RunResult> result = (*executor)->run(run);
    CLEAVE_CHECK(result.ok(), "a run on the stub");
    RunCosts costs;
    costs.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    costs.host_seconds = thread_seconds() - host;
    costs.calls = difference(StubGpu::counts(), calls);
    const double in_calls = StubGpu::seconds_of(costs.calls, call_seconds);
    costs.processor_seconds = stub.other_threads_seconds() - others - in_calls;
    costs.stub_seconds = stub.streams().processor_seconds() - thread + in_calls;
    const std::vector<double> busy_now = stub.streams().busy_seconds();
    for (const auto& [name, lane] :
         {std::pair("to_device", Stream::to_device), {"compute", Stream::compute}, {"to_host", Stream::to_host}}) {
      const auto at = static_cast<std::size_t>(lane);
      costs.lanes[name] = busy_now.at(at) - busy.at(at);
    }
    if (i == 1 || (i > 1 && costs.*of < best.*of)) best = costs;  // run 0 warms up
  }
  return best;
}

/// Places `operations` on the accelerator.
template <class Operations>
Tensor there(Operations&& operations) {
  const Scope scope = place(Side::accelerator);
  return operations();
}

void take(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

RunCosts run_trips(const StubSetting& setting) {
  const auto halve = [](std::span<const float> in, std::span<float> out) {
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] / 2;
  };
  const Graph graph = trace("loop", {{"w", "f32[16]"}}, [&](Tensor w) {
    w = for_loop(setting.trips, w,
                 [&](Tensor, Tensor carried) { return host_call("f", {"f32[16]"}, halve, there([&] { return carried + 1; })); });
    return named("w", w);
  });
  return best_run(graph, setting, false, &RunCosts::processor_seconds);
}

RunCosts run_segment(const StubSetting& setting, int operations, bool as_graph) {
  const Graph graph = trace("segment", {{"x", "f32[16, 16]"}}, [&](Tensor x) {
    for (int i = 0; i < operations; ++i) x = there([&] { return softmax(x); });
    return named("y", x);
  });
  return best_run(graph, setting, !as_graph, &RunCosts::processor_seconds);
}

RunCosts run_side_by_side(double seconds, int runs) {
  const Graph graph = trace("side by side", {{"x", "f32[1024]"}}, [&](Tensor x) {
    const Tensor sent = host_call("make", {"f32[1024, 1024]"}, [](std::span<float>) {});
    const Tensor first = there([&] { return softmax(x); });
    const Tensor worked = host_call("work", {"f32[1]"}, [seconds](std::span<float>) { take(4 * seconds); });
    return std::tuple(named("y", worked), named("z", there([&] { return sum(first + sent); })));
  });
  StubSetting setting;
  setting.runs = runs;
  setting.traits.launch_seconds = seconds;
  setting.traits.link_bytes_per_second = static_cast<double>(kLargeBytes) / seconds;
  RunCosts costs = best_run(graph, setting, false, &RunCosts::wall_seconds);
  costs.lanes["host"] = 4 * seconds;
  return costs;
}

namespace {

/// Costs of a loop that carries a large value: kernels and transfers take `seconds` each, and so does the host in each iteration.
RunCosts pipeline_of(double seconds, int trips, int runs, const std::function<Tensor(Tensor)>& trip) {
  const Graph graph = trace("pipeline", {{"x", "f32[1024, 1024]"}}, [&](Tensor x) {
    return named("y", for_loop(trips, x, [&](Tensor, Tensor carried) { return trip(carried); }));
  });
  StubSetting setting;
  setting.runs = runs;
  setting.traits.launch_seconds = seconds;
  setting.traits.link_bytes_per_second = static_cast<double>(kLargeBytes) / seconds;
  RunCosts costs = best_run(graph, setting, false, &RunCosts::wall_seconds);
  costs.lanes["host"] = seconds * trips;
  return costs;
}

}  // namespace

RunCosts run_pipeline(double seconds, int trips, int runs) {
  return pipeline_of(seconds, trips, runs, [seconds](const Tensor& carried) {
    const Tensor made = host_call("make", {"f32[1024, 1024]"}, [seconds](std::span<float>) { take(seconds); });
    return there([&] { return carried + made; });
  });
}

RunCosts run_pipeline_back(double seconds, int trips, int runs) {
  return pipeline_of(seconds, trips, runs, [seconds](const Tensor& carried) {
    const Tensor next = there([&] { return carried + 1; });
    host_call(
        "look", {}, [seconds](std::span<const float>) { take(seconds); }, next);
    return next;
  });
}

RunCosts run_large(double seconds, bool in_parts, int runs) {
  constexpr std::int64_t rows = 4096, bytes = rows * 2048 * 4;
  StubSetting setting;
  setting.runs = runs;
  if (seconds > 0) setting.traits.link_bytes_per_second = static_cast<double>(bytes) / seconds;
  return best_run(large_values(rows), setting, false, &RunCosts::wall_seconds, in_parts ? 0 : 2 * bytes);
}

}  // namespace cleave::bench
