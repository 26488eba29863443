// The cost of gradients of loops: a loop that reads a row in each trip has a gradient that writes a row in each trip, so that time and
// memory grow with the number of trips, and not with its square.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "executor/api/executable.h"
#include "graph/ops/gradient.h"
#include "graph/ops/ops.h"
#include "graph/trace/control_flow.h"
#include "graph/trace/trace.h"
#include "partitioner/plan.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

/// The gradient by x of the sum of f(x[i]) over all rows, reading one row in each trip.
Executable sum_of_rows(std::int64_t rows) {
  const Graph graph = trace("rows", {{"x", "f32[" + std::to_string(rows) + ", 32]"}}, [&](Tensor x) {
    const Tensor total = for_loop(static_cast<int>(rows), zeros({}),
                                  [&](Tensor i, Tensor sum_so_far) { return sum_so_far + sum(tanh(take(x, i, {.axis = 0}))); });
    return named("g", gradient(total, x));
  });
  Result<Executable> program = compile(graph, {.device = "none"});
  EXPECT_TRUE(program) << program.error().message;
  return *std::move(program);
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The shortest of some runs.
double seconds_of(const Executable& program, std::int64_t rows) {
  Array x({DType::f32, {rows, 32}});
  for (std::int64_t i = 0; i < x.size(); ++i) x.mutable_data<float>()[i] = static_cast<float>(i % 17) / 17;
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    const double before = processor_seconds();
    const Result<RunResult> result = program.run({{"x", x}});
    best = std::min(best, processor_seconds() - before);
    EXPECT_TRUE(result);
    if (result && run == 0) {
      for (std::int64_t i = 0; i < x.size(); i += 37) {
        const double y = std::tanh(static_cast<double>(x.data<float>()[i]));
        EXPECT_NEAR(result->outputs.front().second.data<float>()[i], 1 - y * y, 1e-6);
      }
    }
  }
  return best;
}

TEST(GradientGrowth, TimeAndMemoryAreLinearInTheRowsThatALoopReads) {
  constexpr std::int64_t kFew = 500, kMany = 8 * kFew;
  const Executable few = sum_of_rows(kFew), many = sum_of_rows(kMany);
  const double of_few = seconds_of(few, kFew), of_many = seconds_of(many, kMany);
  EXPECT_LT(of_many, 16 * of_few);
  const auto bytes = [](const Executable& program) {
    const Plan& plan = program.plan();
    return plan.find_peak(plan.program, kHost).bytes;
  };
  EXPECT_LT(bytes(many), 10 * bytes(few));
}

}  // namespace
}  // namespace cleave::testing
