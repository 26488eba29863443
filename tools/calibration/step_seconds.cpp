#include "tools/calibration/step_seconds.h"

#include "executor/api/executable.h"
#include "graph/ops/ops.h"
#include "graph/trace/trace.h"
#include "tools/calibration/points.h"

namespace cleave::calibration {
namespace {

constexpr int kTrips = 200, kFew = 4, kMany = 68;

/// Seconds of a trip with so many steps one after the other, none of which fuses with its neighbours.
Result<double> seconds_a_trip(int steps, double budget, int threads, Clock clock) {
  const Graph graph = trace("steps", {{"x", TypeSpec(DType::f32, {1})}}, [&](const Tensor& x) {
    return for_loop(kTrips, x, [&](const Tensor&, Tensor value) {
      for (int i = 0; i < steps; ++i) value = cumulative_sum(value);
      return value;
    });
  });
  CompileOptions options;
  options.device = "none";
  options.machine = "simulated";
  options.executor.threads = threads;
  Result<Executable> program = compile(graph, options);
  if (!program) return program.error();
  Array one(TensorType{DType::f32, {1}});
  const auto runs = [&](int calls) -> Status {
    for (int i = 0; i < calls; ++i) {
      const Result<RunResult> done = program->run({{"x", one}});
      if (!done) return done.error();
    }
    return {};
  };
  const Result<double> run = seconds_of_call(budget, runs, clock);
  if (!run) return run;
  return *run / kTrips;
}

}  // namespace

Result<double> seconds_a_step(double budget, int threads, Clock clock) {
  const Result<double> few = seconds_a_trip(kFew, budget, threads, clock);
  if (!few) return few;
  const Result<double> many = seconds_a_trip(kMany, budget, threads, clock);
  if (!many) return many;
  return std::max(1e-9, (*many - *few) / (kMany - kFew));
}

}  // namespace cleave::calibration
