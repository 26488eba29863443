// Loops and branches whose conditions the GPU evaluates itself, on the fake driver: conditional nodes execute the right bodies, the host
// does no work per iteration, and wrong data and endless loops end the run. Also the text of the kernel that evaluates the condition.
#include <gmock/gmock.h>

#include <thread>

#include "executor/cuda/back_end.h"
#include "executor/cuda/deciding.h"
#include "tests/executor/run_support.h"
#include "tests/support/fake_driver.h"
#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_loops.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

CostModel with_device_loops() {
  CostModel model = simulated_costs();
  model.machine.accelerators[0].control_flow = "device_loops";
  return model;
}

struct LoopsSeen {
  Outcome outcome;
  std::int64_t launches = 0, trips = 0, calls = 0;  ///< counts of the last run
  std::vector<std::string> graphs;
};

struct On {
  std::uint64_t variant = 0;
  bool conditions = true, stream_mode = false, texts = false;
};

LoopsSeen run_loops_on_fake(const Planned& planned, const RunOptions& options, const On& on) {
  LoopsSeen seen;
  KernelEmulator emulator;
  FakeDriver driver(static_cast<FakeDriver::Schedule>(on.variant % 3), on.variant);
  if (on.texts) driver.run_texts(emulator);
  if (!on.conditions) driver.know_no_conditions();
  {
    cuda::CudaOptions cuda_options;
    cuda_options.stream_mode = on.stream_mode;
    ExecutorSetup setup{{}, cuda::back_end(), 0};
    setup.back_end.open = driver.opener(cuda_options);
    setup.fuse = on.variant % 2 == 0;
    setup.channel_capacity = 1 + static_cast<int>(on.variant / 2 % 2);
    setup.watchdog_seconds = 200;
    const std::unique_ptr<Executor> executor = executor_for(planned, setup);
    if (!executor) return seen;
    for (int run = 0; run < 2; ++run) {
      const std::int64_t launches = driver.count("cuGraphLaunch") + driver.count("cuLaunchKernel"), trips = driver.trips(),
                         calls = driver.calls();
      seen.outcome = run_with(options, [&](const RunOptions& o) { return executor->run(o); });
      seen.launches = driver.count("cuGraphLaunch") + driver.count("cuLaunchKernel") - launches;
      seen.trips = driver.trips() - trips;
      seen.calls = driver.calls() - calls;
    }
    seen.graphs = driver.graphs();
  }
  EXPECT_EQ(driver.leaks(), "");
  EXPECT_THAT(driver.misuses(), IsEmpty());
  return seen;
}

struct Program2 {
  std::shared_ptr<const Graph> graph;
  RunOptions options;
  Outcome expected;
  explicit Program2(Graph made, std::uint64_t seed = 1) : graph(std::make_shared<const Graph>(std::move(made))) {
    EXPECT_TRUE(graph->ok());
    options.inputs = random_inputs(*graph, seed);
    expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
  }
};

/// Halves until little is left; the condition is computed on the accelerator.
Graph halving_loop(float start) {
  return trace("halving", {{"x", "f32[8, 8]"}}, [&](Tensor x) {
    return while_loop([](Tensor, Tensor left) { return left > 1.0F; }, std::tuple(x, sum(x * 0.0F) + start),
                      [](Tensor v, Tensor left) { return std::tuple(tanh(matmul(v, v)) * 0.5F, left * 0.5F); });
  });
}

TEST(CudaDeviceLoops, TheHostDoesNothingATrip) {
  for (std::uint64_t variant = 0; variant < 6; ++variant) {
    SCOPED_TRACE(variant);
    std::int64_t calls = 0;
    for (const int halvings : {3, 40}) {
      const Program2 program(halving_loop(std::exp2(static_cast<float>(halvings))));
      const LoopsSeen seen =
          run_loops_on_fake(plan_with(with_device_loops(), program.graph, Where::accelerator), program.options, {variant});
      expect_equal(seen.outcome, program.expected, false);
      EXPECT_EQ(seen.trips, halvings);
      if (calls > 0) {
        EXPECT_LE(seen.calls, calls + 20);  // the number of polls varies; a call per iteration would add 37
      }
      calls = std::max(calls, seen.calls);
    }
  }
}

TEST(CudaDeviceLoops, WithoutConditionalNodesLoopsAreWalked) {
  const Program2 program(halving_loop(16));
  for (const On on : {On{0, false}, On{1, false}, On{2, true, true}}) {
    const LoopsSeen seen = run_loops_on_fake(plan_with(with_device_loops(), program.graph, Where::accelerator), program.options, on);
    expect_equal(seen.outcome, program.expected, false);
    EXPECT_EQ(seen.trips, 0);
  }
}

TEST(CudaDeviceLoops, CountsUntilBranchesAndNestedLoops) {
  const auto make = [] {
    return trace("all", {{"x", "f32[4, 4]"}, {"count", "i32[]"}}, [](Tensor x, Tensor count) {
      const Tensor counted = for_loop(count, x, [](Tensor i, Tensor v) { return tanh(v + astype(i, DType::f32)); });
      const Tensor nested = for_loop(3, counted, [&](Tensor i, Tensor v) {
        const Tensor inner = for_loop(4, v, [&](Tensor j, Tensor w) { return w * 0.5F + astype(i * 4 + j, DType::f32); });
        return cond(
            sum(inner) > 10.0F, [&] { return inner - 1.0F; }, [&] { return inner + 1.0F; });
      });
      const Tensor zero = for_loop(0, nested, [](Tensor, Tensor v) { return v * 2.0F; });
      return std::tuple(counted, zero);
    });
  };
  for (std::uint64_t variant = 0; variant < 6; ++variant) {
    SCOPED_TRACE(variant);
    const Program2 program(make(), variant);
    const LoopsSeen seen = run_loops_on_fake(plan_with(with_device_loops(), program.graph, Where::accelerator), program.options, {variant});
    expect_equal(seen.outcome, program.expected, false);
    EXPECT_GT(seen.trips, 14);
    EXPECT_THAT(seen.graphs, ::testing::Contains(HasSubstr("while")));
  }
}

TEST(CudaDeviceLoops, RandomLoopsEqualTheReference) {
  std::int64_t trips = 0;
  for (std::uint64_t seed = 0; seed < draws(80U) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program2 program(RandomLoops(seed).make(), seed);
    for (const Where where : {Where::accelerator, Where::random}) {
      const On on{seed, seed % 5 != 4, seed % 7 == 6};
      const LoopsSeen seen = run_loops_on_fake(plan_with(with_device_loops(), program.graph, where, seed), program.options, on);
      expect_equal(seen.outcome, program.expected, false);
      trips += seen.trips;
    }
  }
  EXPECT_GT(trips, draws(100));
}

TEST(CudaDeviceLoops, RandomProgramsEqualTheReference) {
  for (std::uint64_t seed = 0; seed < draws(40U) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProgram program(seed);
    for (const Where where : {Where::accelerator, Where::optimal, Where::random}) {
      program.log->lines.clear();
      const Planned planned = plan_with(with_device_loops(), program.graph, where, seed);
      RunOptions options = program.options;
      options.verify = seed % 4 == 3;
      LoopsSeen seen;
      FakeDriver driver(static_cast<FakeDriver::Schedule>(seed % 3), seed);
      {
        ExecutorSetup setup{{}, cuda::back_end(), 0};
        setup.back_end.open = driver.opener();
        setup.watchdog_seconds = 200;
        const std::unique_ptr<Executor> executor = executor_for(planned, setup);
        ASSERT_TRUE(executor);
        seen.outcome = run_with(options, [&](const RunOptions& o) { return executor->run(o); });
      }
      EXPECT_THAT(driver.misuses(), IsEmpty());
      expect_equal(seen.outcome, program.expected, false);
      EXPECT_EQ(program.log->lines, program.effects);
    }
  }
}

/// Checks that a program with wrong data ends with the reference executor's error under every schedule. Returns the number of iterations of
/// each run.
std::vector<std::int64_t> trips_until_told(const Program2& program) {
  EXPECT_FALSE(program.expected.result.ok());
  std::vector<std::int64_t> trips;
  for (std::uint64_t variant = 0; variant < 3; ++variant) {
    const LoopsSeen seen =
        run_loops_on_fake(plan_with(with_device_loops(), program.graph, Where::accelerator), program.options, {variant, true, false, true});
    expect_equal(seen.outcome, program.expected, false);
    trips.push_back(seen.trips);
  }
  return trips;
}

/// An index that is out of range in the fourth iteration.
TEST(CudaDeviceLoops, WrongDataInsideAreTheErrorOfTheirLine) {
  if (!KernelEmulator::unavailable().empty()) GTEST_SKIP() << KernelEmulator::unavailable();
  const Program2 program(trace("wrong", {{"x", "f32[4]"}}, [](Tensor x) {
    return for_loop(1000000, sum(x * 0.0F), [&](Tensor i, Tensor total) { return total + take(x, i * 2 - 3); });
  }));
  EXPECT_THAT(trips_until_told(program), ::testing::Each(::testing::AllOf(::testing::Gt(0), ::testing::Lt(10))));
}

/// Two indices are out of range in one iteration: the first in program order is reported, although its kernel, in a branch, is prepared
/// last.
TEST(CudaDeviceLoops, OfWrongDataInOneTripTheFirstAreTold) {
  if (!KernelEmulator::unavailable().empty()) GTEST_SKIP() << KernelEmulator::unavailable();
  const Program2 program(trace("wrong", {{"x", "f32[4]"}}, [](Tensor x) {
    return for_loop(1000000, sum(x * 0.0F), [&](Tensor i, Tensor total) {
      const Tensor branched = cond(
          total > -1e30F, [&] { return take(x, i * 2 - 3); }, [&] { return total; });
      return total + branched + take(x, i * 2 - 4);
    });
  }));
  trips_until_told(program);
}

TEST(CudaDeviceLoops, AnEndlessLoopEndsWhenTheRunIsGivenUp) {
  const auto graph = std::make_shared<const Graph>(trace("endless", {{"x", "f32[]"}}, [](Tensor x) {
    return while_loop([](Tensor v) { return v > -1.0F; }, x * 0.0F, [](Tensor v) { return abs(v) * 0.5F; });
  }));
  const Planned planned = plan_with(with_device_loops(), graph, Where::accelerator);
  for (const FakeDriver::Schedule schedule : {FakeDriver::Schedule::eager, FakeDriver::Schedule::random}) {
    FakeDriver driver(schedule, 1);
    ExecutorSetup setup{{}, cuda::back_end(), 0};
    setup.back_end.open = driver.opener();
    setup.watchdog_seconds = 200;
    const std::unique_ptr<Executor> executor = executor_for(planned, setup);
    ASSERT_TRUE(executor);
    RunOptions options;
    options.inputs = {{"x", Array::scalar(1.0F)}};
    std::jthread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      while (!executor->cancel()) std::this_thread::yield();
    });
    const Result<RunResult> result = executor->run(options);
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, HasSubstr("cancelled"));
    EXPECT_GT(driver.trips(), 1);
  }
}

/// The text of the kernel gives the same result as its C++ twin for all possible arguments.
TEST(Deciding, TheTextDecidesAsItsTwinDoes) {
  if (const std::string why = KernelEmulator::unavailable(); !why.empty()) GTEST_SKIP() << why;
  KernelEmulator emulator;
  cuda::KernelSource source;
  source.text = cuda::deciding_text() + R"(
extern "C" u64 nanoseconds() { return 1000000; }
extern "C" void cudaGraphSetConditional(u64 handle, unsigned value) { *(unsigned*)handle = value; }
)";
  source.launches = {cuda::deciding_launch()};
  emulator.add(source);
  const Status compiled = emulator.compile();
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  std::mt19937_64 random(1);
  for (int i = 0; i < 400; ++i) {
    SCOPED_TRACE(i);
    struct {
      cuda::LaunchWords launch{7, 4, 0, 0};
      cuda::HostWords host;
      std::uint64_t trip = 0;
      std::uint32_t taken[2] = {9, 9}, otherwise[2] = {9, 9};
      std::int32_t counter = -5;
      std::uint8_t predicate = 0;
    } at;
    at.trip = random() % 6;
    at.host.stop = random() % 4 == 0;
    at.predicate = static_cast<std::uint8_t>(random() % 2);
    at.launch.stopped = random() % 8 == 0;
    at.launch.looked = random() % 2 == 0 ? 1000000 - 10 : 0;
    const auto address = [](const void* p) { return reinterpret_cast<std::uint64_t>(p); };
    cuda::Deciding what;
    const auto does = static_cast<cuda::Decides>(random() % 5);
    what.what = static_cast<std::uint64_t>(does);
    what.launch = address(&at.launch), what.host = address(&at.host);
    what.command = 11;
    what.count = random() % 3 == 0 ? ~std::uint64_t{0} : random() % 6;
    what.trip = address(&at.trip);
    what.counter = does == cuda::Decides::number || random() % 2 == 0 ? address(&at.counter) : 0;
    what.predicate = does == cuda::Decides::branch || random() % 2 == 0 ? address(&at.predicate) : 0;
    what.ends = random() % 2;
    what.taken = address(at.taken), what.otherwise = address(at.otherwise);
    const auto before = at;

    MemoryChecker memory;
    memory.add({address(&at), sizeof at, 1, "all", true, true});
    const auto* values = reinterpret_cast<const unsigned long long*>(&what);
    const Status status = emulator.launch(source, 0, std::span(values, cuda::kDecidingParameters), memory);
    ASSERT_TRUE(status.ok()) << status.error().message;

    if (does == cuda::Decides::open) {
      EXPECT_EQ(at.launch.command, 11u);
      EXPECT_EQ(at.launch.count, what.count);
      EXPECT_EQ(at.launch.stopped, 0u);
      EXPECT_EQ(at.launch.looked, 1000000u);
      continue;
    }
    if (does == cuda::Decides::number) {
      EXPECT_EQ(at.counter, static_cast<std::int32_t>(before.trip));
      EXPECT_EQ(at.taken[0], 9u);
      continue;
    }
    if (does == cuda::Decides::branch) {
      EXPECT_EQ(at.taken[0], before.predicate);
      EXPECT_EQ(at.otherwise[0], 1u - before.predicate);
      continue;
    }
    const bool first = does == cuda::Decides::first;
    const std::uint64_t trip = first ? 0 : before.trip + 1;
    bool stopped = before.launch.stopped != 0;
    if (!first && !stopped) {
      const bool looks = before.launch.looked == 0;
      stopped = looks && before.host.stop != 0;
      EXPECT_EQ(at.host.progress, looks ? 1u : 0u);
    }
    bool more = trip < (what.count == ~std::uint64_t{0} ? before.launch.count : what.count) && !stopped;
    if (what.predicate != 0 && what.ends == 0) more = more && before.predicate;
    if (what.predicate != 0 && what.ends == 1 && !first) more = more && !before.predicate;
    EXPECT_EQ(at.trip, trip);
    EXPECT_EQ(at.taken[0], more ? 1u : 0u);
    if (what.counter != 0) {
      EXPECT_EQ(at.counter, static_cast<std::int32_t>(trip));
    }
  }
}

TEST(Deciding, Compiles) {
  Result<cuda::CompilerApi> api = cuda::CompilerApi::load();
  if (!api) GTEST_SKIP() << api.error().message;
  for (const cuda::Architecture& architecture :
       {cuda::Architecture{8, 0, 108}, cuda::Architecture{9, 0, 132}, cuda::Architecture{10, 0, 148}}) {
    Result<cuda::Compiler> compiler = cuda::Compiler::open(*api, architecture, {});
    ASSERT_TRUE(compiler.ok());
    const Result<std::string> image = compiler->image(cuda::deciding_text());
    EXPECT_TRUE(image.ok()) << image.error().message;
  }
}

}  // namespace
}  // namespace cleave::testing
