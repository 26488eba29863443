// A device of a new kind with nothing but the base interface (executor/device/device.h): commands run at once, on the thread that enqueues
// them. It runs programs with round trips, loops, branches and coalesced transfers to the right results.
#include <cstring>

#include "executor/device/kernel.h"
#include "graph/ops/ops.h"
#include "graph/trace/control_flow.h"
#include "graph/trace/trace.h"
#include "tests/executor/run_support.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

/// Streams whose commands are complete as soon as they are enqueued.
class ImmediateStreams final : public Streams {
 public:
  Event record(Stream stream) override { return {stream, 0}; }
  Event record_awaited(Stream stream) override { return record(stream); }
  Status wait(Stream, Event) override { return {}; }
  Status synchronize(Event) override { return {}; }
  [[nodiscard]] bool passed(Event) override { return true; }
};

class PlainDevice final : public runtime::Device {
 public:
  Status allocate(std::int64_t bytes, std::span<const Range>) override {
    arena_ = std::vector<Block>(static_cast<std::size_t>(bytes) / sizeof(Block) + 1);
    return {};
  }
  Result<std::byte*> allocate_staging(std::int64_t bytes) override {
    staging_.emplace_back(static_cast<std::size_t>(bytes) / sizeof(Block) + 1);
    return staging_.back().data()->bytes;
  }
  Result<KernelId> prepare(KernelRequest request) override {
    kernels_.push_back({std::move(request), nullptr});
    kernels_.back().kernel = prepare_host_kernel(kernels_.back().request);
    return KernelId(kernels_.size() - 1);
  }
  Status upload(Range to, const std::byte* from, bool) override { return copy(at(to), from, to.bytes); }
  [[nodiscard]] std::int64_t measured_peak() const override { return std::ssize(arena_) * static_cast<std::int64_t>(sizeof(Block)); }

  Status begin_run(RunState&) override { return {}; }
  void end_run() override {}
  void abort() override {}
  [[nodiscard]] bool lost() const override { return false; }
  Streams& streams() override { return streams_; }

  Status launch(KernelId id, const Origin&) override {
    ++launches;
    const auto& [request, kernel] = kernels_[id.index];
    std::vector<TensorView> inputs, results;
    for (std::size_t i = 0; i < request.inputs.size(); ++i) inputs.push_back({&request.input_types[i], at(request.inputs[i])});
    for (std::size_t i = 0; i < request.results.size(); ++i) results.push_back({&request.result_types[i], at(request.results[i])});
    const OpContext context{[](std::string_view) {}};
    return run_guarded(*kernel, {*request.op, *request.attributes, inputs, results, context});
  }
  Status copy_to_device(Range to, const std::byte* from, const Origin&) override {
    ++copies;
    return copy(at(to), from, to.bytes);
  }
  Status copy_to_host(std::byte* to, Range from, const Origin&) override {
    ++copies;
    return copy(to, at(from), from.bytes);
  }
  Status copy_inside(Range to, Range from, const Origin&) override { return copy(at(to), at(from), to.bytes); }
  Status fill(Range to, std::int32_t value, const Origin&) override {
    for (std::int64_t i = 0; i + 4 <= to.bytes; i += 4) std::memcpy(at(to) + i, &value, 4);
    return {};
  }

  std::int64_t launches = 0, copies = 0;

 private:
  struct alignas(64) Block {
    std::byte bytes[64];
  };
  struct Prepared {
    KernelRequest request;
    std::unique_ptr<HostKernel> kernel;
  };
  [[nodiscard]] std::byte* at(Range range) { return reinterpret_cast<std::byte*>(arena_.data()) + range.offset; }
  static Status copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return {};
  }

  std::vector<Block> arena_;
  std::vector<std::vector<Block>> staging_;
  std::vector<Prepared> kernels_;
  ImmediateStreams streams_;
};

/// The record of the device; `opened` becomes the last device that it opened.
BackEnd plain_back_end(PlainDevice*& opened) {
  BackEnd record;
  record.name = "plain";
  record.machine = "simulated";
  record.supports = simulated::back_end().supports;
  record.open = [&opened](int, const ExecutorOptions&) -> Result<std::unique_ptr<runtime::Device>> {
    auto device = std::make_unique<PlainDevice>();
    opened = device.get();
    return std::unique_ptr<runtime::Device>(std::move(device));
  };
  return record;
}

TEST(PlainDevice, RunsALoopWithARoundTrip) {
  const auto graph = std::make_shared<const Graph>(trace("round_trip", {{"w", "f32[32, 32]"}}, [](Tensor w) {
    return for_loop(5, w, [](Tensor, Tensor v) { return sort(tanh(matmul(v, v))) * 0.5F; });
  }));
  RunOptions options;
  options.inputs = random_inputs(*graph, 1);
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
  PlainDevice* device = nullptr;
  const std::unique_ptr<Executor> executor = executor_for(plan_for(graph, Where::accelerator), {{}, plain_back_end(device), 0});
  ASSERT_TRUE(executor);
  for (int i = 0; i < 2; ++i) expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
  EXPECT_GE(device->launches, 2 * 5) << "the loop's products run on the device";
  EXPECT_GE(device->copies, 2 * 2 * 5) << "each iteration sends the product to the host, and the sorted value back";
}

TEST(PlainDevice, RandomProgramsEqualTheReference) {
  PlainDevice* device = nullptr;
  for (std::uint64_t seed = 0; seed < draws(60U) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProgram program(seed);
    for (const Where where : {Where::accelerator, Where::optimal, Where::random}) {
      program.log->lines.clear();
      const std::unique_ptr<Executor> executor = executor_for(plan_for(program.graph, where, seed), {{}, plain_back_end(device), 0});
      ASSERT_TRUE(executor);
      RunOptions options = program.options;
      options.verify = seed % 4 == 3;
      expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), program.expected, false);
      EXPECT_EQ(program.log->lines, program.effects);
    }
  }
  ASSERT_TRUE(device);
}

}  // namespace
}  // namespace cleave::testing
