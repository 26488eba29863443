// The timeline of a run on a GPU, measured by the GPU's own events: it has the same steps and transfers as on the simulated accelerator,
// entries of a lane do not overlap and are within the run, and no event is recorded unless a timeline is requested.
#include "executor/report/timeline.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "executor/cuda/back_end.h"
#include "executor/cuda/spans.h"
#include "executor/report/profile_report.h"
#include "graph/ops/ops.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "tests/executor/cuda/cuda_plan.h"
#include "tests/executor/run_support.h"
#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Lane = TimelineEvent::Lane;
using Schedule = FakeDriver::Schedule;
using What = TimelineEvent::What;

struct Variant {
  int timing_events = 2048;
  bool stream_mode = false;
  std::int64_t part_bytes = 1 << 20;
  int capacity = 2;
};

ExecutorSetup timeline_setup(FakeDriver& driver, const Variant& variant = {}) {
  cuda::CudaOptions options;
  options.streams = {16, 0.5, 1, variant.timing_events};
  options.stream_mode = variant.stream_mode;
  ExecutorSetup setup{{}, cuda::back_end(), 0};
  setup.back_end.open = driver.opener(options);
  setup.fuse = false;  // the two devices fuse differently
  setup.part_bytes = variant.part_bytes;
  setup.channel_capacity = variant.capacity;
  setup.watchdog_seconds = 200;
  return setup;
}

/// `trips` iterations of w = 2 f(w + 1): the sum and the product on the accelerator, f on the host.
std::shared_ptr<const Graph> timed_loop(int trips, std::function<Status(std::span<const float>, std::span<float>)> f, const char* type) {
  return std::make_shared<const Graph>(trace("loop", {{"w", type}}, [&](Tensor w) {
    w = for_loop(trips, w, [&](Tensor, Tensor carried) {
      return to_accelerator(host_call("f", {type}, HostOptions{}, f, to_accelerator(carried) + 1)) * 2;
    });
    return named("w", w);
  }));
}
Status halve_with_status(std::span<const float> in, std::span<float> out) {
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] / 2;
  return {};
}
/// Several operations between synchronizations with the host.
std::shared_ptr<const Graph> chain(int trips) {
  return std::make_shared<const Graph>(trace("chain", {{"x", "f32[8, 8]"}}, [&](Tensor x) {
    return named("y", for_loop(trips, x, [](Tensor, Tensor carried) { return tanh(matmul(carried, carried) * 0.25F) + sin(carried); }));
  }));
}

RunOptions timed(RunOptions options) {
  options.timeline = true;
  options.print = [](std::string_view) {};
  return options;
}
RunOptions timed(const Graph& graph) {
  RunOptions options;
  options.inputs = random_inputs(graph, 1);
  return timed(std::move(options));
}

/// The accelerator's activities with their counts, without those that are free on the simulated accelerator: loop counters, and copies for
/// aliases.
std::map<std::string, int> done(const std::vector<TimelineEvent>& events, const Graph& graph) {
  std::map<std::string, int> all;
  for (const TimelineEvent& event : events) {
    if (event.device == kHost || event.what == What::wait || graph.nodes[event.node].kind == NodeKind::counter) continue;
    const std::vector<NodeId> nodes = event.together ? *event.together : std::vector{event.node};
    EXPECT_EQ(nodes.back(), event.node);
    for (const NodeId node : nodes) {
      if (event.what == What::compute && graph.nodes[node].op && graph.nodes[node].op->keeps_bytes) continue;
      ++all[std::string(event.what == What::compute ? "computes " : "moves ") + graph.display_name(node) + " at " +
            to_string(graph.nodes[node].location) + " " + std::to_string(node.index) + " " + std::to_string(event.bytes)];
    }
  }
  return all;
}

void expect_in_order(const RunResult& result) {
  std::map<std::pair<DeviceId, Lane>, std::vector<const TimelineEvent*>> lanes;
  for (const TimelineEvent& event : result.timeline.events) {
    EXPECT_GE(event.start_seconds, 0);
    EXPECT_LE(event.start_seconds, event.end_seconds);
    EXPECT_LE(event.end_seconds, result.seconds);
    EXPECT_TRUE(event.what != What::compute || event.lane == Lane::steps);
    EXPECT_EQ(event.what == What::wait, event.lane == Lane::waits);
    lanes[{event.device, event.lane}].push_back(&event);
  }
  for (auto& [lane, events] : lanes) {
    std::sort(events.begin(), events.end(),
              [](auto* a, auto* b) { return std::pair(a->start_seconds, a->end_seconds) < std::pair(b->start_seconds, b->end_seconds); });
    for (std::size_t i = 1; i < events.size(); ++i)
      EXPECT_GE(events[i]->start_seconds, events[i - 1]->end_seconds - 1e-9) << static_cast<int>(lane.second);
  }
}

void check_timeline(const std::shared_ptr<const Graph>& graph, const RunOptions& options, Where where, std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Planned planned = plan_unfused(graph, where, seed);
  ExecutorOptions unfused;
  unfused.fuse = false;
  const Result<RunResult> simulated = executor_for(planned, simulated_setup(unfused))->run(options);
  if (!simulated) return;
  expect_in_order({.seconds = simulated->simulated_seconds * (1 + 1e-9), .timeline = simulated->timeline});
  FakeDriver driver(static_cast<Schedule>(seed % 3), seed);
  const bool words = seed % 4 != 0;
  if (!words) driver.wait_for_no_words();
  {
    const Variant variant{seed % 2 == 0 ? 16 : 2048, seed % 5 == 0, seed % 3 == 0 ? 8 : 1 << 20, 1 + static_cast<int>(seed % 2)};
    const std::unique_ptr<Executor> executor = executor_for(planned, timeline_setup(driver, variant));
    ASSERT_TRUE(executor);
    for (int run = 0; run < 2; ++run) {
      const Result<RunResult> result = executor->run(options);
      ASSERT_TRUE(result.ok()) << result.error().message;
      EXPECT_FALSE(result->timeline.simulated);
      EXPECT_EQ(done(result->timeline.events, *graph), done(simulated->timeline.events, *graph));
      expect_in_order(*result);
      for (const TimelineEvent& event : result->timeline.events)
        EXPECT_TRUE(words || event.what != What::transfer || event.lane != Lane::steps);
    }
  }
  EXPECT_THAT(driver.misuses(), IsEmpty());
  EXPECT_EQ(driver.leaks(), "");
}

TEST(CudaTimeline, HasWhatTheSimulatedOneHas) {
  for (std::uint64_t seed = 0; seed < draws(60U) && !HasFailure(); ++seed) {
    RandomProgram program(seed);
    check_timeline(program.graph, timed(program.options), seed % 3 == 0 ? Where::accelerator : Where::random, seed);
  }
}

TEST(CudaTimeline, HasEveryTripOfALoopHoweverValuesCross) {
  for (std::uint64_t seed = 0; seed < (kSanitized ? 1U : 12U) && !HasFailure(); ++seed)
    for (const char* type : {"f32[5]", "f32[17000]"}) {
      const auto graph = timed_loop(20, halve_with_status, type);
      check_timeline(graph, timed(*graph), Where::accelerator, seed);
    }
}

TEST(CudaTimeline, HasWhatIsLaunchedAsOneAsOneInterval) {
  const auto graph = chain(10);
  const Planned planned = plan_unfused(graph, Where::accelerator);
  FakeDriver driver;
  const Result<RunResult> result = executor_for(planned, timeline_setup(driver))->run(timed(*graph));
  ASSERT_TRUE(result.ok()) << result.error().message;
  int launches = 0;
  double seconds = 0;
  for (const TimelineEvent& event : result->timeline.events) {
    if (event.device == kHost || event.what != What::compute || !event.together) continue;
    ++launches;
    seconds += event.end_seconds - event.start_seconds;
    EXPECT_EQ(event.together->size(), 5U);
  }
  EXPECT_EQ(launches, 10);
  EXPECT_GT(seconds, 0);
  EXPECT_EQ(driver.count("cuGraphLaunch"), 10);
  const std::string text = to_chrome_trace(result->timeline, *graph);
  EXPECT_THAT(text, HasSubstr(" (5)\""));
  EXPECT_THAT(text, HasSubstr("\"together\":[\""));
  for (const char* lane : {"\"steps\"", "\"to accelerator\"", "\"to host\"", "\"waits\""}) EXPECT_THAT(text, HasSubstr(lane));
}

TEST(CudaTimeline, IsSummedUpInTheLedger) {
  PlanOptions options;
  options.costs = simulated_costs();
  options.costs.policy = Policy::accelerator;
  const Plan planned = plan(*chain(10), options);
  ASSERT_TRUE(planned.ok());
  FakeDriver driver;
  const Result<RunResult> result = executor_for(as_planned(planned), timeline_setup(driver))->run(timed(*planned.graph));
  ASSERT_TRUE(result.ok()) << result.error().message;
  const ProfileReport report = profile_report(result->timeline, planned.program, planned.costed, planned.transfers);
  int rows = 0;
  double predicted = 0;
  for (const ProfileReportRow& row : report.rows) {
    if (row.what == What::compute && row.device == kAccelerator) predicted += row.predicted_seconds;
    if (row.members.size() != 5) continue;
    ++rows;
    EXPECT_EQ(row.executions, 10);
    EXPECT_GT(row.seconds, 0);
    EXPECT_GT(row.predicted_seconds, 0);
    EXPECT_THAT(op_names(*planned.graph, row), HasSubstr("matmul + "));
  }
  EXPECT_EQ(rows, 1);
  const ProfileReport before = profile_report({}, planned.program, planned.costed, planned.transfers);
  double apart = 0;
  for (const ProfileReportRow& row : before.rows)
    if (row.what == What::compute && row.device == kAccelerator) apart += row.predicted_seconds;
  EXPECT_NEAR(predicted, apart, 1e-9 * apart) << "nothing is predicted twice or lost";
  EXPECT_THAT(to_text(report, *planned.graph), HasSubstr("as one on the accelerator"));
}

TEST(CudaTimeline, CostsNothingWhereNobodyAsks) {
  const auto graph = timed_loop(30, halve_with_status, "f32[5]");
  FakeDriver driver(Schedule::eager);
  const std::unique_ptr<Executor> executor = executor_for(plan_unfused(graph, Where::accelerator), timeline_setup(driver));
  ASSERT_TRUE(executor);
  RunOptions options = timed(*graph);
  options.timeline = false;
  for (const bool timeline : {false, true, false}) {
    const std::int64_t made = driver.count("cuEventCreate"), taken = driver.times_taken(), asked = driver.count("cuEventElapsedTime");
    options.timeline = timeline;
    ASSERT_TRUE(executor->run(options).ok());
    EXPECT_EQ(driver.count("cuEventCreate") - made, timeline ? 2048 : 0);
    EXPECT_EQ(driver.times_taken() > taken, timeline);
    EXPECT_EQ(driver.count("cuEventElapsedTime") > asked, timeline);
  }
  const std::int64_t made = driver.count("cuEventCreate");
  options.timeline = true;
  ASSERT_TRUE(executor->run(options).ok());
  EXPECT_EQ(driver.count("cuEventCreate"), made) << "once for all timelines";
}

TEST(CudaTimeline, OfARunThatFailsHasWhatWasDone) {
  std::atomic<int> calls = 0;
  const auto fails = [&](std::span<const float> in, std::span<float> out) -> Status {
    return ++calls == 7 ? Error{"enough", {}, ErrorKind::user} : halve_with_status(in, out);
  };
  for (const char* type : {"f32[5]", "f32[17000]"}) {
    const auto graph = timed_loop(1000, fails, type);
    const Planned planned = plan_unfused(graph, Where::accelerator);
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      calls = 0;
      FakeDriver driver(static_cast<Schedule>(seed % 3), seed);
      {
        const std::unique_ptr<Executor> executor = executor_for(planned, timeline_setup(driver, {seed % 2 == 0 ? 16 : 2048}));
        ASSERT_TRUE(executor);
        std::mutex mutex;
        std::vector<TimelineEvent> told;
        RunOptions options = timed(*graph);
        options.timeline = false;
        options.on_timeline = [&](std::span<const TimelineEvent> events) {
          const std::lock_guard lock(mutex);
          told.insert(told.end(), events.begin(), events.end());
        };
        const Result<RunResult> result = executor->run(options);
        ASSERT_FALSE(result.ok());
        EXPECT_THAT(result.error().message, HasSubstr("enough"));
        const auto sums = std::count_if(told.begin(), told.end(), [&](const TimelineEvent& event) {
          return event.device == kAccelerator && event.what == What::compute && graph->op_name(event.node) == std::string("add");
        });
        EXPECT_GE(sums, 7);
      }
      EXPECT_THAT(driver.misuses(), IsEmpty());
      EXPECT_EQ(driver.leaks(), "");
    }
  }
}

TEST(CudaTimeline, MakesOneErrorOfEachFailingCall) {
  const auto graph = timed_loop(3, halve_with_status, "f32[5]");
  const Planned planned = plan_unfused(graph, Where::accelerator);
  bool times = false;
  for (const CUresult code : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_LAUNCH_FAILED}) {
    std::int64_t opening = 0;
    for (std::int64_t n = 1;; n += kSanitized ? 7 : 1) {
      SCOPED_TRACE("call " + std::to_string(n) + " fails with " + std::to_string(code));
      FakeDriver driver(Schedule::eager);
      {
        const std::unique_ptr<Executor> executor = executor_for(planned, timeline_setup(driver, {16}));
        ASSERT_TRUE(executor);
        opening = driver.calls();
        driver.fail_call(n, code);
        const Result<RunResult> result = executor->run(timed(*graph));
        if (driver.failed().empty()) break;
        times |= driver.failed() == "cuEventElapsedTime";
        if (result.ok() && driver.failed_without_harm()) continue;
        ASSERT_FALSE(result.ok()) << driver.failed() << " failed";
        EXPECT_EQ(result.error().kind, ErrorKind::machine);
        const Result<RunResult> again = executor->run(timed(*graph));
        EXPECT_EQ(again.ok(), code == CUDA_ERROR_OUT_OF_MEMORY) << driver.failed() << (again.ok() ? "" : ": " + again.error().message);
      }
      EXPECT_EQ(driver.leaks(), "") << driver.failed();
      EXPECT_THAT(driver.misuses(), IsEmpty()) << driver.failed();
      ASSERT_LT(n, 5000) << opening;
      if (HasFailure()) return;
    }
  }
  EXPECT_TRUE(times);
}

TEST(CudaTimeline, GivesUpOnADeviceThatStandsStill) {
  const auto graph = timed_loop(3, halve_with_status, "f32[5]");
  for (const std::int64_t n : {1, 3, 5}) {
    FakeDriver driver;
    ExecutorSetup options = timeline_setup(driver);
    options.watchdog_seconds = 0.2;
    const std::unique_ptr<Executor> executor = executor_for(plan_unfused(graph, Where::accelerator), options);
    ASSERT_TRUE(executor);
    driver.stall_command(n);
    const Result<RunResult> result = executor->run(timed(*graph));
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, HasSubstr("nothing has run for"));
    EXPECT_THAT(driver.misuses(), IsEmpty());
  }
}

/// The driver reports times as floats in milliseconds: after an hour, neighboring floats differ by a quarter of a millisecond.
TEST(CudaSpans, AreAsExactAfterHours) {
  FakeDriver driver(Schedule::eager);
  const Result<std::shared_ptr<cuda::Context>> context = cuda::Context::open(FakeDriver::api().driver, 0);
  ASSERT_TRUE(context.ok());
  {
    const cuda::Context::Visit visit(**context);
    Result<cuda::StreamHandle> stream = cuda::make_stream(**context);
    ASSERT_TRUE(stream.ok());
    RunState::Clock::time_point now{};
    cuda::Spans spans(**context, [&] { return now; });
    ASSERT_TRUE(spans.make(16).ok() && spans.begin(stream->get()).ok());
    ASSERT_TRUE(*spans.based());
    now += std::chrono::hours(100);
    std::vector<Measured> measured;
    for (std::uint64_t i = 1; i <= 5; ++i) {
      driver.pass(3600 + 1e-5);
      spans.label(Stream::compute, i);
      ASSERT_TRUE(spans.before(Stream::compute, stream->get()).ok());
      driver.pass(2e-6);
      ASSERT_TRUE(spans.behind_wait(Stream::compute, stream->get()).ok());
      driver.pass(3e-6);
      ASSERT_TRUE(spans.behind(Stream::compute, stream->get(), i).ok());
      ASSERT_TRUE(spans.read(Stream::compute, i, true).ok());
      spans.take(Stream::compute, measured);
      ASSERT_EQ(measured.size(), i);
      const auto seconds = [](RunState::Clock::time_point from, RunState::Clock::time_point to) {
        return std::chrono::duration<double>(to - from).count();
      };
      EXPECT_EQ(measured.back().label, i);
      EXPECT_NEAR(seconds(measured.back().begin, measured.back().work), 2e-6, 1e-8);
      EXPECT_NEAR(seconds(measured.back().work, measured.back().end), 3e-6, 1e-8);
      EXPECT_NEAR(seconds({}, measured.back().begin), 3600.0 * static_cast<double>(i), 1e-3 * static_cast<double>(i));
    }
  }
  EXPECT_THAT(driver.misuses(), IsEmpty());
}

}  // namespace
}  // namespace cleave::testing
