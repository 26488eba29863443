// Large transferred values are computed directly in the send buffer and read directly from the receive buffer: the addresses that a host
// function is given show it. The tests of random programs check that these buffers are not overwritten early.
#include "executor/run/transport/host_storage.h"

#include <gtest/gtest.h>

#include <set>

#include "graph/ops/ops.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "tests/executor/run_support.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

constexpr const char* kRow = "f32[300]";

struct Seen {
  std::set<const float*> read, written;
};

void expect_right(const std::shared_ptr<const Graph>& graph, const std::function<void(const ExecutorSetup&, const RunOptions&)>& run) {
  RunOptions options;
  options.inputs = random_inputs(*graph, 3);
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
  const Planned planned = plan_for(graph, Where::accelerator);
  for (const int capacity : {1, 2, 3}) {
    for (const auto schedule : {ExecutorOptions::Schedule::eager, ExecutorOptions::Schedule::latest, ExecutorOptions::Schedule::random}) {
      SCOPED_TRACE("capacity " + std::to_string(capacity) + ", schedule " + std::to_string(static_cast<int>(schedule)));
      ExecutorSetup setup = simulated_setup();
      setup.schedule = schedule;
      setup.channel_capacity = capacity;
      setup.part_bytes = 128;
      const std::unique_ptr<Executor> executor = executor_for(planned, setup);
      ASSERT_TRUE(executor);
      for (int i = 0; i < 2; ++i) expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
      run(setup, options);
    }
  }
}

TEST(HostStorage, AreTheSlotsOfValuesThatCross) {
  const auto seen = std::make_shared<Seen>();
  const auto shift = [seen](std::span<const float> in, std::span<float> out) {
    seen->read.insert(in.data());
    seen->written.insert(out.data());
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[(i + 1) % in.size()] / 2;
  };
  const auto graph = std::make_shared<const Graph>(trace("loop", {{"w", kRow}}, [&](Tensor w) {
    w = for_loop(12, w, [&](Tensor, Tensor carried) {
      return to_accelerator(host_call("shift", {kRow}, {}, shift, to_accelerator(carried) + 1)) * 2;
    });
    return named("w", w);
  }));
  const auto planned = plan_for(graph, Where::accelerator);
  expect_right(graph, [&](const ExecutorSetup& setup, const RunOptions& options) {
    const std::unique_ptr<Executor> executor = executor_for(planned, setup);
    ASSERT_TRUE(executor);
    *seen = {};
    ASSERT_TRUE(executor->run(options).ok());
    // Each iteration waits for the previous one, so that its slot is free again: all slots are used, in turn, and no other memory.
    const auto slots = static_cast<std::size_t>(setup.channel_capacity);
    EXPECT_EQ(seen->read.size(), slots);
    EXPECT_EQ(seen->written.size(), slots);
  });
}

TEST(HostStorage, KeepWhatIsReadAgainAfterOtherValuesCame) {
  const auto add = [](std::span<const float> a, std::span<const float> b, std::span<float> out) {
    for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] - b[a.size() - 1 - i];
  };
  const auto graph = std::make_shared<const Graph>(trace("again", {{"w", kRow}}, [&](Tensor w) {
    const Tensor first = to_accelerator(w) * 3;
    w = for_loop(9, w, [&](Tensor, Tensor carried) {
      const Tensor a = to_accelerator(carried) * 0.5;
      const Tensor r = host_call("add", {kRow}, {}, add, a, first);
      const Tensor b = to_accelerator(r) + 1;
      return to_accelerator(host_call("add", {kRow}, {}, add, b, a)) * 0.25;
    });
    return named("w", w);
  }));
  expect_right(graph, [](const ExecutorSetup&, const RunOptions&) {});
}

}  // namespace
}  // namespace cleave::testing
