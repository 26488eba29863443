// Coalesced transfers on CUDA: the kernels that pack and unpack the values, run by the emulator and compiled by the real NVRTC,
// and the back end on the fake driver: one launch per coalesced transfer, equal results. Also large values, which are copied in chunks.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "executor/cuda/back_end.h"
#include "executor/cuda/compiler.h"
#include "executor/cuda/kernels/coalesced_copy.h"
#include "graph/trace/tracer.h"
#include "tests/executor/cuda/cuda_plan.h"
#include "tests/executor/run_support.h"
#include "tests/support/fake_driver.h"
#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/namespaces.h"
#include "tests/support/unpacked.h"

namespace cleave::testing {
namespace {

/// Pieces of the given sizes, stored one after the other.
std::vector<Piece> pieces_of(const std::vector<std::int64_t>& bytes) {
  std::vector<Piece> pieces;
  std::int64_t offset = 0;
  for (const std::int64_t size : bytes) {
    pieces.push_back({{0, size}, offset});
    offset += (size + 15) / 16 * 16;
  }
  return pieces;
}

const std::vector<std::vector<std::int64_t>> kSizes = {
    {1, 4}, {16, 16, 16}, {4, 8, 4}, {4095, 1, 4096, 4097}, {65536 - 16, 3}, {0, 17, 31}, std::vector<std::int64_t>(64, 12)};

Array bytes_array(std::int64_t size, int first) {
  Array array(TensorType{DType::u8, {size}});
  for (std::int64_t i = 0; i < size; ++i) array.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(first + 7 * i);
  return array;
}

TEST(CudaCoalescedCopies, KernelsCopyEveryByteToItsPlaceAndNoOther) {
  if (const std::string why = KernelEmulator::unavailable(); !why.empty()) GTEST_SKIP() << why;
  KernelEmulator emulator;
  for (const auto& sizes : kSizes)
    for (const bool unpacks : {true, false}) emulator.add(cuda::coalesced_copy_source(pieces_of(sizes), unpacks));
  for (const auto& sizes : kSizes) {
    SCOPED_TRACE(::testing::PrintToString(sizes));
    const std::vector<Piece> pieces = pieces_of(sizes);
    const std::int64_t whole = pieces.back().offset + (pieces.back().range.bytes + 15) / 16 * 16;
    // Unused entries of the kernel's parameters have zero bytes.
    std::vector<Array> values, back;
    for (std::size_t i = 0; i < cuda::coalesced_copy_room(pieces.size()); ++i) {
      values.push_back(bytes_array(i < sizes.size() ? sizes[i] : 0, static_cast<int>(13 * i + 1)));
      back.emplace_back(values.back().type());
    }
    std::vector<Array> packed{bytes_array(whole, 0)};
    Status status = emulator.run(cuda::coalesced_copy_source(pieces, false), values, packed);
    ASSERT_TRUE(status.ok()) << status.error().message;
    for (std::size_t i = 0; i < pieces.size(); ++i)
      EXPECT_TRUE(std::equal(values[i].bytes(), values[i].bytes() + sizes[i], packed[0].bytes() + pieces[i].offset)) << i;
    status = emulator.run(cuda::coalesced_copy_source(pieces, true), packed, back);
    ASSERT_TRUE(status.ok()) << status.error().message;
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_TRUE(values[i] == back[i]) << i;
  }
}

TEST(CudaCoalescedCopies, KernelsCompile) {
  Result<cuda::CompilerApi> api = cuda::CompilerApi::load();
  if (!api) GTEST_SKIP() << api.error().message;
  Result<cuda::Compiler> compiler = cuda::Compiler::open(*api, {}, {});
  ASSERT_TRUE(compiler.ok());
  for (const std::size_t pieces : {2, 3, 64}) {
    for (const bool unpacks : {true, false}) {
      const cuda::KernelSource source = cuda::coalesced_copy_source(pieces_of(std::vector<std::int64_t>(pieces, 20)), unpacks);
      const Result<std::string> image = compiler->image(source.text);
      EXPECT_TRUE(image.ok()) << image.error().message << "\n" << source.text;
    }
  }
}

TEST(CudaCoalescedCopies, OfSizesAlikeHaveOneText) {
  const auto text = [](std::size_t pieces) {
    return cuda::coalesced_copy_source(pieces_of(std::vector<std::int64_t>(pieces, 5)), true).text;
  };
  EXPECT_EQ(text(5), text(8));
  EXPECT_NE(text(8), text(9));
}

ExecutorSetup setup_of(FakeDriver& driver) {
  ExecutorSetup setup{{}, cuda::back_end(), 0};
  setup.back_end.open = driver.opener();
  setup.watchdog_seconds = 60;
  return setup;
}

/// y = the sum of eight small inputs, z = their product: two results.
std::shared_ptr<const Graph> eight_to_two() {
  Tracer tracer("eight");
  const SourceLocation here{std::make_shared<const std::string>("model.yaml"), 1, 1, nullptr};
  Operand sum, product;
  for (int i = 0; i < 8; ++i) {
    const Operand x = tracer.input("x" + std::to_string(i), {DType::f32, {5}}, {}, here);
    const Operand sums[] = {sum, x}, products[] = {product, x};
    sum = i == 0 ? x : tracer.call(*find_op("add"), sums, {}, here);
    product = i == 0 ? x : tracer.call(*find_op("multiply"), products, {}, here);
  }
  tracer.output("sum", sum, here);
  tracer.output("product", product, here);
  return std::make_shared<const Graph>(tracer.finish());
}

TEST(CudaCoalescedCopies, AreOneLaunchAndNoCopy) {
  RunOptions options;
  for (int i = 0; i < 8; ++i) options.inputs.emplace("x" + std::to_string(i), Array::of<float>({5}, {1, 2, 3, static_cast<float>(i), 0.5}));
  const Planned together = plan_on_cuda(eight_to_two(), Where::accelerator);
  Planned apart = together;
  apart.program = std::make_shared<const Program>(unpacked(*together.program));
  ASSERT_FALSE(together.program->coalesced_transfers.empty());
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*together.program->graph, o); });
  std::map<bool, std::int64_t> copies, launches;
  for (const auto schedule : {FakeDriver::Schedule::eager, FakeDriver::Schedule::latest, FakeDriver::Schedule::random}) {
    for (const bool packed : {true, false}) {
      FakeDriver driver(schedule, 3);
      driver.wait_for_no_words();  // otherwise the values are sent through mailboxes
      {
        const std::unique_ptr<Executor> executor = executor_for(packed ? together : apart, setup_of(driver));
        ASSERT_TRUE(executor);
        expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
        const std::int64_t before = driver.count("cuMemcpyHtoDAsync"), launched = driver.count("cuLaunchKernel");
        const Outcome second = run_with(options, [&](const RunOptions& o) { return executor->run(o); });
        expect_equal(second, expected, false);
        EXPECT_EQ(second.result->host_to_accelerator.count, 8) << "each value counts";
        EXPECT_EQ(second.result->host_to_accelerator.bytes, 8 * 20);
        copies[packed] = driver.count("cuMemcpyHtoDAsync") - before;
        launches[packed] = driver.count("cuLaunchKernel") - launched;
      }
      EXPECT_EQ(driver.leaks(), "");
      EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
    }
    EXPECT_EQ(copies[false], 8);
    EXPECT_EQ(copies[true], 0);
    EXPECT_EQ(launches[true], launches[false] + static_cast<std::int64_t>(together.program->coalesced_transfers.size()));
  }
}

// --- large values ------------------------------------------------------------------------------------------------------------------------

TEST(CudaParts, LargeValuesAreStagedAndFetchedPartByPart) {
  constexpr std::int64_t kSize = 50000, kPart = 1 << 14;  // 200,000 bytes: 13 parts, the last one short
  Tracer tracer("large");
  const SourceLocation here{std::make_shared<const std::string>("model.yaml"), 1, 1, nullptr};
  const Operand x = tracer.input("x", {DType::f32, {kSize}}, {}, here);
  const Operand operands[] = {x, x};
  tracer.output("y", tracer.call(*find_op("add"), operands, {}, here), here);
  const Planned planned = plan_on_cuda(std::make_shared<const Graph>(tracer.finish()), Where::accelerator);
  Array values({DType::f32, {kSize}});
  for (std::int64_t i = 0; i < kSize; ++i) values.mutable_data<float>()[i] = static_cast<float>(i);
  RunOptions options;
  options.inputs = {{"x", values}};
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*planned.program->graph, o); });
  for (const auto schedule : {FakeDriver::Schedule::eager, FakeDriver::Schedule::latest, FakeDriver::Schedule::random}) {
    FakeDriver driver(schedule, 4);
    {
      ExecutorSetup setup = setup_of(driver);
      setup.part_bytes = kPart;
      const std::unique_ptr<Executor> executor = executor_for(planned, setup);
      ASSERT_TRUE(executor);
      for (int run = 1; run <= 3; ++run) {
        const Outcome outcome = run_with(options, [&](const RunOptions& o) { return executor->run(o); });
        expect_equal(outcome, expected, true);
        EXPECT_EQ(outcome.result->host_to_accelerator.count, 1) << "one value";
        EXPECT_EQ(outcome.result->accelerator_to_host.bytes, 4 * kSize);
        EXPECT_EQ(driver.count("cuMemcpyHtoDAsync"), 13 * run);
        EXPECT_EQ(driver.count("cuMemcpyDtoHAsync"), 13 * run);
      }
    }
    EXPECT_EQ(driver.leaks(), "");
    EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
  }
}

}  // namespace
}  // namespace cleave::testing
