#include "tools/calibration/step_seconds.h"

#include "executor/api/executable.h"
#include "graph/ops/ops.h"
#include "graph/trace/trace.h"
#include "tools/calibration/points.h"

namespace cleave::calibration {
namespace {

constexpr int kTrips = 200, kFew = 4, kMany = 68;

Tensor steps(int count, Tensor value) {
  for (int i = 0; i < count; ++i) value = cumulative_sum(value);
  return value;
}

/// Seconds of a run of `count` steps in sequence, none of which fuses with its neighbors, in each of `trips` iterations.
Result<double> seconds_a_run(int count, int trips, double budget, int threads, Clock clock) {
  const Graph graph = trace("steps", {{"x", TypeSpec(DType::f32, {1})}}, [&](const Tensor& x) {
    return trips == 0 ? steps(count, x) : for_loop(trips, x, [&](const Tensor&, const Tensor& value) { return steps(count, value); });
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
  return seconds_of_call(budget, runs, clock);
}

}  // namespace

Result<StepSeconds> measure_steps(double budget, int threads, Clock clock) {
  const Result<double> few = seconds_a_run(kFew, kTrips, budget, threads, clock);
  const Result<double> many = few ? seconds_a_run(kMany, kTrips, budget, threads, clock) : few;
  const Result<double> one = many ? seconds_a_run(1, 0, budget, threads, clock) : many;
  if (!one) return one.error();
  StepSeconds seconds;
  seconds.step = std::max(1e-9, (*many - *few) / kTrips / (kMany - kFew));
  seconds.run = std::max(0.0, *one - seconds.step);
  seconds.trip = std::max(0.0, (*few - seconds.run) / kTrips - kFew * seconds.step);
  return seconds;
}

}  // namespace cleave::calibration
