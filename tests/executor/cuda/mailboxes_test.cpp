// Values that the host and the GPU exchange through page-locked memory: they are right under every order of events, every run ends however
// it fails, and the number of commands on either side does not grow with the waits.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "executor/cuda/back_end.h"
#include "executor/cuda/compiler.h"
#include "executor/cuda/handover.h"
#include "executor/device/mailbox.h"
#include "graph/ops/ops.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "tests/executor/cuda/cuda_plan.h"
#include "tests/executor/run_support.h"
#include "tests/support/fake_driver.h"
#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using cuda::Patience;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Schedule = FakeDriver::Schedule;

ExecutorSetup mailbox_setup(FakeDriver& driver, int cores = 1, int capacity = 2, double watchdog_seconds = 20) {
  cuda::CudaOptions options;
  options.streams = {16, 0.5, cores};
  ExecutorSetup setup{{}, cuda::back_end(), 0};
  setup.back_end.open = driver.opener(options);
  setup.channel_capacity = capacity;
  setup.watchdog_seconds = watchdog_seconds;
  return setup;
}

/// Iterations of w = 2 f(w + 1): the sum and the product on the accelerator, f on the host.
template <class F>
std::shared_ptr<const Graph> loop(int trips, F f, const char* type = "f32[5]", const HostOptions& options = {}) {
  return std::make_shared<const Graph>(trace("loop", {{"w", type}}, [&](Tensor w) {
    w = for_loop(trips, w, [&](Tensor, Tensor carried) {
      return to_accelerator(host_call("f", {type}, options, f, to_accelerator(carried) + 1)) * 2;
    });
    return named("w", w);
  }));
}
void halve(std::span<const float> in, std::span<float> out) {
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] / 2;
}

RunOptions options_of(const Graph& graph) {
  RunOptions options;
  options.inputs = random_inputs(graph, 1);
  return options;
}

TEST(CudaMailboxes, BringTheRightValuesInEveryOrder) {
  const auto graph = loop(30, halve);
  const RunOptions options = options_of(*graph);
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
  const Planned planned = plan_on_cuda(graph, Where::accelerator);
  for (std::uint64_t seed = 0; seed < draws(24U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FakeDriver driver(static_cast<Schedule>(seed % 3), seed);
    {
      const std::unique_ptr<Executor> executor =
          executor_for(planned, mailbox_setup(driver, seed % 2 == 0 ? 1 : 64, 1 + static_cast<int>(seed / 3 % 3)));
      ASSERT_TRUE(executor);
      for (int run = 0; run < 3; ++run)
        expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
    }
    EXPECT_GT(driver.count("cuStreamWaitValue64") + driver.count("cuLaunchKernel"), 3 * 60);
    EXPECT_THAT(driver.misuses(), IsEmpty());
    EXPECT_EQ(driver.leaks(), "");
  }
}

TEST(CudaMailboxes, RunProgramsOfAllKindsAsTheReferenceDoes) {
  int mailboxes = 0;
  for (std::uint64_t seed = 0; seed < draws(60U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProgram program(seed);
    const Planned planned = plan_on_cuda(program.graph, Where::random, seed);
    FakeDriver driver(static_cast<Schedule>(seed % 3), seed);
    {
      const std::unique_ptr<Executor> executor =
          executor_for(planned, mailbox_setup(driver, seed % 2 == 0 ? 1 : 64, 1 + static_cast<int>(seed % 2)));
      ASSERT_TRUE(executor);
      for (int run = 0; run < 2; ++run) {
        program.log->lines.clear();
        expect_equal(run_with(program.options, [&](const RunOptions& o) { return executor->run(o); }), program.expected, false);
        EXPECT_EQ(program.log->lines, program.effects);
      }
    }
    mailboxes += driver.count("cuStreamWaitValue64") > 0 ? 1 : 0;
    EXPECT_THAT(driver.misuses(), IsEmpty());
    EXPECT_EQ(driver.leaks(), "");
    if (HasFailure()) return;
  }
  EXPECT_GT(mailboxes, draws(10));
}

/// An iteration costs one launch for each transferred value and one wait for each value that the host sends, and no copies.
TEST(CudaMailboxes, CostFewCallsATrip) {
  const auto graph = loop(200, halve);
  const RunOptions options = options_of(*graph);
  const Planned planned = plan_on_cuda(graph, Where::accelerator);
  FakeDriver driver(Schedule::eager);
  const std::unique_ptr<Executor> executor = executor_for(planned, mailbox_setup(driver));
  ASSERT_TRUE(executor);
  ASSERT_TRUE(executor->run(options).ok());
  const std::map<std::string, std::int64_t> before = driver.counts();
  ASSERT_TRUE(executor->run(options).ok());
  const auto in_run = [&](const std::string& call) {
    const auto old = before.find(call);
    return driver.count(call) - (old == before.end() ? 0 : old->second);
  };
  EXPECT_LE(in_run("cuStreamWaitValue64"), 200 + 1);  // one wait for w
  EXPECT_LE(in_run("cuMemcpyHtoDAsync"), 1);
  EXPECT_EQ(in_run("cuMemcpyDtoHAsync"), 1);
  EXPECT_LE(in_run("cuStreamWaitEvent"), 4);
}

/// Two values each way that are coalesced: one launch packs or unpacks them, and one signals it.
TEST(CudaMailboxes, BringCoalescedTransfers) {
  const auto both = [](std::span<const float> a, std::span<const float> b, std::span<float> sum, std::span<float> product) {
    for (std::size_t i = 0; i < a.size(); ++i) sum[i] = (a[i] + b[i]) / 2;
    for (std::size_t i = 0; i < a.size(); ++i) product[i] = a[i] * b[i] / 2;
  };
  const auto graph = std::make_shared<const Graph>(trace("packets", {{"x", "f32[7]"}, {"y", "f32[7]"}}, [&](Tensor x, Tensor y) {
    auto [first, second] = for_loop(20, std::tuple(x, y), [&](Tensor, Tensor a, Tensor b) {
      auto [sum, product] = host_call("both", {"f32[7]", "f32[7]"}, both, to_accelerator(a) * 0.5, to_accelerator(b) + 1);
      return std::tuple(to_accelerator(sum) + 1, to_accelerator(product) - 1);
    });
    return named("z", first + second);
  }));
  const RunOptions options = options_of(*graph);
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
  const Planned planned = plan_on_cuda(graph, Where::accelerator);
  ASSERT_FALSE(planned.program->coalesced_transfers.empty());
  for (std::uint64_t seed = 0; seed < (kSanitized ? 3U : 12U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FakeDriver driver(static_cast<Schedule>(seed % 3), seed);
    {
      const std::unique_ptr<Executor> executor =
          executor_for(planned, mailbox_setup(driver, seed % 2 == 0 ? 1 : 64, 1 + static_cast<int>(seed % 2)));
      ASSERT_TRUE(executor);
      for (int run = 0; run < 2; ++run)
        expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
    }
    EXPECT_LE(driver.count("cuMemcpyHtoDAsync") + driver.count("cuMemcpyDtoHAsync"), 2 * 3);
    EXPECT_THAT(driver.misuses(), IsEmpty());
    EXPECT_EQ(driver.leaks(), "");
  }
}

TEST(CudaMailboxes, AreForSmallValuesOnly) {
  for (const auto& [type, copies] : {std::pair("f32[16384]", 1), std::pair("f32[16385]", 10 + 1)}) {
    const auto graph = loop(10, halve, type);
    const RunOptions options = options_of(*graph);
    const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
    const Planned planned = plan_on_cuda(graph, Where::accelerator);
    FakeDriver driver;
    const std::unique_ptr<Executor> executor = executor_for(planned, mailbox_setup(driver));
    ASSERT_TRUE(executor);
    expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
    EXPECT_EQ(driver.count("cuMemcpyDtoHAsync"), copies) << type;
    EXPECT_THAT(driver.misuses(), IsEmpty());
  }
}

TEST(CudaMailboxes, LetTheGpuGoWhereTheHostFails) {
  std::atomic<int> calls = 0;
  std::atomic<bool> fails = true;
  const auto f = [&](std::span<const float> in, std::span<float> out) -> Status {
    halve(in, out);
    if (++calls == 7 && fails) return Error{"enough", {}, ErrorKind::user};
    return {};
  };
  const auto graph = loop(1000, f);
  const Planned planned = plan_on_cuda(graph, Where::accelerator);
  for (std::uint64_t seed = 0; seed < (kSanitized ? 3U : 12U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FakeDriver driver(static_cast<Schedule>(seed % 3), seed);
    {
      const std::unique_ptr<Executor> executor =
          executor_for(planned, mailbox_setup(driver, seed % 2 == 0 ? 1 : 64, 1 + static_cast<int>(seed % 2)));
      ASSERT_TRUE(executor);
      for (fails = true; fails; fails = false) {
        calls = 0;
        const Result<RunResult> result = executor->run(options_of(*graph));
        ASSERT_FALSE(result.ok());
        EXPECT_THAT(result.error().message, HasSubstr("enough"));
        EXPECT_EQ(calls, 7);
      }
      calls = 0;
      EXPECT_TRUE(executor->run(options_of(*graph)).ok());
      EXPECT_EQ(calls, 1000);
    }
    EXPECT_THAT(driver.misuses(), IsEmpty());
    EXPECT_EQ(driver.leaks(), "");
  }
}

/// The GPU is far ahead when it finds invalid data: values that the host received before are valid, and later ones are not used.
TEST(CudaMailboxes, TellSoundValuesFromTheOthers) {
  constexpr int kBad = 9;
  std::vector<int> seen;
  int line = 0;
  const auto graph = std::make_shared<const Graph>(trace("taking", {{"x", "f32[4]"}}, [&](Tensor x) {
    const Tensor total = for_loop(40, to_accelerator(x), [&](Tensor i, Tensor carried) {
      // Four rows have no fifth one.
      const Tensor which = host_call(
          "which", {"i32[1]"},
          [&](std::span<const std::int32_t> at, std::span<std::int32_t> out) {
            seen.push_back(at[0]);
            out[0] = at[0] == kBad ? 4 : at[0] % 4;
          },
          expand_dims(i, {0}));
      line = __LINE__ + 1;
      return carried + sum(take(to_accelerator(x), to_accelerator(which), {.axis = 0}));
    });
    return named("sum", total);
  }));
  const Planned planned = plan_on_cuda(graph, Where::accelerator);
  for (std::uint64_t seed = 0; seed < (kSanitized ? 3U : 12U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FakeDriver driver(static_cast<Schedule>(seed % 3), seed);
    const std::unique_ptr<Executor> executor = executor_for(planned, mailbox_setup(driver));
    ASSERT_TRUE(executor);
    seen.clear();
    const Result<RunResult> result = executor->run(options_of(*graph));
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, ErrorKind::user) << result.error().message;
    EXPECT_EQ(result.error().location.line, line) << result.error().message;
    EXPECT_THAT(driver.misuses(), IsEmpty());
  }
}

TEST(CudaMailboxes, EndWithARunThatIsGivenUp) {
  const auto graph = loop(100, [](std::span<const float>, std::span<float>, HostToken token) {
    static std::vector<HostToken> kept;  // never completed
    kept.push_back(std::move(token));
  });
  const Planned planned = plan_on_cuda(graph, Where::accelerator);
  for (const Schedule schedule : {Schedule::eager, Schedule::latest, Schedule::random}) {
    FakeDriver driver(schedule);
    {
      const std::unique_ptr<Executor> executor = executor_for(planned, mailbox_setup(driver));
      ASSERT_TRUE(executor);
      std::atomic<bool> over = false;
      std::thread other([&] {
        while (!over && !executor->end(Error{"somebody had enough", {}, ErrorKind::machine})) std::this_thread::yield();
      });
      const Result<RunResult> result = executor->run(options_of(*graph));
      over = true;
      other.join();
      ASSERT_FALSE(result.ok());
      EXPECT_THAT(result.error().message, HasSubstr("somebody had enough"));
      EXPECT_FALSE(executor->lost());
    }
    EXPECT_THAT(driver.misuses(), IsEmpty());
    EXPECT_EQ(driver.leaks(), "");
  }
}

TEST(CudaMailboxes, AreNotThereWhereTheGpuCannotWaitForWords) {
  FakeDriver driver;
  driver.wait_for_no_words();
  const auto graph = loop(10, halve);
  const RunOptions options = options_of(*graph);
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
  const std::unique_ptr<Executor> executor = executor_for(plan_on_cuda(graph, Where::accelerator), mailbox_setup(driver));
  ASSERT_TRUE(executor);
  expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
  EXPECT_EQ(driver.count("cuStreamWaitValue64"), 0);
  EXPECT_EQ(driver.count("cuMemcpyDtoHAsync"), 11);
}

TEST(Mailbox, IsReleasedForGood) {
  alignas(64) std::uint64_t words[Mailbox::kBytes / sizeof(std::uint64_t)];
  const Mailbox mailbox(words);
  mailbox.reset();
  mailbox.tell(1);
  mailbox.tell(2);
  EXPECT_EQ(mailbox.told(), 2u);
  mailbox.release();
  mailbox.tell(3);
  EXPECT_GT(mailbox.told(), 1000000u);
  mailbox.reset();
  EXPECT_EQ(mailbox.told(), 0u);
}

/// The text of the kernel, executed thread by thread.
TEST(Handover, CopiesEachByteAndSaysSo) {
  if (const std::string why = KernelEmulator::unavailable(); !why.empty()) GTEST_SKIP() << why;
  KernelEmulator emulator;
  cuda::KernelSource source;
  source.text = cuda::handover_text();
  source.launches = {cuda::handover_launch(1)};
  emulator.add(source);
  ASSERT_TRUE(emulator.compile().ok());
  for (const std::size_t bytes : {1, 4, 15, 16, 17, 255, 4096, 16384, 40003, 65536}) {
    SCOPED_TRACE(bytes);
    source.launches = {cuda::handover_launch(static_cast<std::int64_t>(bytes))};
    alignas(16) static std::byte from[65536], to[65536 + 16];
    for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
    std::fill(std::begin(to), std::end(to), std::byte{0});
    std::uint64_t words[2] = {0, 0};
    for (const bool noted : {false, true}) {
      words[0] = words[1] = 0;
      const auto address = [](const void* p) { return reinterpret_cast<unsigned long long>(p); };
      const unsigned long long parameters[] = {address(to), address(from),      bytes, noted ? address(&words[0]) : 0,
                                               77,          address(&words[1]), 5};
      MemoryChecker memory;
      const auto size = static_cast<std::int64_t>(bytes);
      memory.add({address(from), size, 1, "from"});
      memory.add({address(to), size, 1, "to", false, true});
      memory.add({address(words), sizeof words, 8, "words", true, true});
      const Status status = emulator.launch(source, 0, parameters, memory);
      ASSERT_TRUE(status.ok()) << status.error().message;
      EXPECT_EQ(0, std::memcmp(to, from, bytes));
      EXPECT_EQ(to[bytes], std::byte{0});
      EXPECT_EQ(words[0], noted ? 77u : 0u);
      EXPECT_EQ(words[1], 5u);
    }
  }
}

TEST(Handover, Compiles) {
  Result<cuda::CompilerApi> api = cuda::CompilerApi::load();
  if (!api) GTEST_SKIP() << api.error().message;
  for (const cuda::Architecture& architecture : {cuda::Architecture{8, 0, 108}, cuda::Architecture{9, 0, 132}}) {
    Result<cuda::Compiler> compiler = cuda::Compiler::open(*api, architecture, {});
    ASSERT_TRUE(compiler.ok());
    const Result<std::string> image = compiler->image(cuda::handover_text());
    EXPECT_TRUE(image.ok()) << image.error().message;
  }
}

TEST(Patience, NapsForASmallPartOfTheWait) {
  using std::chrono::microseconds;
  EXPECT_EQ(Patience::length(microseconds(99)), microseconds(0));
  EXPECT_EQ(Patience::length(microseconds(100)), microseconds(50));
  EXPECT_EQ(Patience::length(microseconds(10000)), microseconds(200));
  EXPECT_EQ(Patience::length(std::chrono::seconds(5)), microseconds(1000));
}

}  // namespace
}  // namespace cleave::testing
