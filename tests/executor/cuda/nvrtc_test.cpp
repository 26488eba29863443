// The text of the CUDA kernels, compiled by the real NVRTC, which needs no GPU: it compiles for every architecture that cleave names, and
// the result leaves room on a multiprocessor for the intended number of blocks.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "executor/cuda/compiler.h"
#include "executor/cuda/kernels/reduction_plan.h"
#include "graph/ops/op_table.h"
#include "tests/executor/cuda/kernel_usage.h"
#include "tests/support/kernel_request.h"
#include "tests/support/namespaces.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

constexpr cuda::Architecture kArchitectures[] = {{8, 0, 108}, {9, 0, 132}, {10, 0, 148}};

constexpr std::int64_t kRegisters = 65536;  ///< registers of a multiprocessor
constexpr int kRegistersTogether = 8;       ///< allocation granularity of registers per thread

/// Checks that nothing is spilled, and that `blocks` blocks of each kernel fit on a multiprocessor.
void expect_room(const cuda::KernelSource& source, const std::vector<KernelUsage>& usage, std::int64_t blocks, const std::string& what) {
  std::set<std::string> entries;
  for (const cuda::KernelLaunch& launch : source.launches) entries.insert(launch.entry);
  EXPECT_EQ(usage.size(), entries.size()) << what;
  for (const KernelUsage& kernel : usage) {
    if (std::getenv("CLEAVE_TEST_SHOW_REGISTERS")) std::cout << what << ": " << kernel.entry << ": " << kernel.registers << " registers\n";
    EXPECT_EQ(kernel.spilled, 0) << what << ": " << kernel.entry << " spills registers";
    for (const cuda::KernelLaunch& launch : source.launches) {
      if (launch.entry != kernel.entry) continue;
      const std::int64_t threads = std::int64_t{launch.block[0]} * launch.block[1] * launch.block[2];
      const std::int64_t registers = (kernel.registers + kRegistersTogether - 1) / kRegistersTogether * kRegistersTogether;
      EXPECT_LE(registers * threads * blocks, kRegisters)
          << what << ": " << kernel.entry << " takes " << kernel.registers << " registers in blocks of " << threads << " threads";
    }
  }
}

/// A cached compiler report is used only for the same text and options.
TEST(CudaNvrtc, WordsAreKeptByTextAndArchitecture) {
  const Result<cuda::CompilerApi> api = cuda::CompilerApi::load();
  if (!api) GTEST_SKIP() << api.error().message;
  const test::TemporaryFolder folder;
  const auto usage = [&](const cuda::Architecture& architecture, const std::string& text) {
    return UsageCompiler::open(*api, architecture, folder.path("."))->usage(text);
  };
  const std::string one = "extern \"C\" __global__ void one(int* a) { *a = 1; }",
                    two = "extern \"C\" __global__ void two(double* a, double b) { *a = exp(*a / b); }";
  const int before = UsageCompiler::compiled();
  for (int i = 0; i < 2; ++i) {
    for (const cuda::Architecture& architecture : {kArchitectures[0], kArchitectures[1]}) {
      const Result<std::vector<KernelUsage>> first = usage(architecture, one), second = usage(architecture, two);
      ASSERT_TRUE(first.ok() && second.ok());
      ASSERT_EQ(first->size(), 1U);
      ASSERT_EQ(second->size(), 1U);
      EXPECT_EQ(first->front().entry, "one");
      EXPECT_EQ(second->front().entry, "two");
      EXPECT_LT(first->front().registers, second->front().registers);
    }
    EXPECT_FALSE(usage(kArchitectures[0], "no text").ok()) << "an error is no word to keep";
  }
  EXPECT_EQ(UsageCompiler::compiled() - before, 6);
}

TEST(CudaNvrtc, EveryOpCompiles) {
  Result<cuda::CompilerApi> api = cuda::CompilerApi::load();
  if (!api) GTEST_SKIP() << api.error().message;
  // Each op once, on its largest sample, and in addition every twentieth text; the architectures alternate. CLEAVE_TEST_ALL_KERNELS: all
  // texts.
  const bool all = std::getenv("CLEAVE_TEST_ALL_KERNELS") != nullptr;
  std::map<std::string, std::pair<std::int64_t, OpSample>> largest;
  std::map<std::string, std::pair<std::string, cuda::KernelSource>> texts;
  const auto add = [&](const OpSample& sample) {
    const std::optional<cuda::KernelSource> source = cuda::kernel_source(request_for(sample), kArchitectures[0]);
    if (source && !source->launches.empty()) texts.emplace(source->text, std::pair(describe(sample), *source));
  };
  std::size_t number = 0;
  for (const OpSample& sample : op_samples()) {
    const std::int64_t size = sample.inputs.empty() ? 1 : sample.inputs[0].size();
    const auto [known, added] = largest.emplace(sample.op->name, std::pair(size, sample));
    if (!added && known->second.first < size) known->second = {size, sample};
    if (all || number++ % 20 == 0) add(sample);
  }
  for (const auto& [op, sample] : largest) add(sample.second);
  EXPECT_GT(texts.size(), 60U);
  std::size_t turn = 0;
  for (const auto& [text, made] : texts) {
    const cuda::Architecture& architecture = kArchitectures[turn++ % std::size(kArchitectures)];
    const Result<UsageCompiler> compiler = UsageCompiler::open(*api, architecture);
    ASSERT_TRUE(compiler.ok());
    const Result<std::vector<KernelUsage>> usage = compiler->usage(text);
    ASSERT_TRUE(usage.ok()) << made.first << " for sm_" << architecture.major << architecture.minor << ": " << usage.error().message << "\n"
                            << text;
    expect_room(made.second, *usage, 2, made.first);
  }
}

// --- compiled kernels for large tensors ----------------------------------------------------------------------------------------------

using Integers = std::vector<std::int64_t>;

struct Large {
  const char* op;
  std::vector<TensorType> inputs;
  Attributes attributes = {};
  std::int64_t blocks = 4;  ///< intended number of resident blocks on a multiprocessor
};

std::vector<Large> element_wise(const Shape& many) {
  std::vector<Large> all;
  for (const DType dtype : {DType::f32, DType::f16, DType::f64}) {
    const TensorType x{dtype, many};
    for (const char* op : {"add", "divide", "maximum"}) all.push_back({op, {x, x}});
    for (const char* op : {"negative", "exp", "sigmoid"}) all.push_back({op, {x}});
    all.push_back({"add", {x, {dtype, {4096}}}});
    all.push_back({"clip", {x, x, x}});
  }
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const char* op : {"random_normal", "random_uniform"}) all.push_back({op, {}, {{"shape", many}, {"dtype", dtype}}});
  }
  return all;
}

std::vector<Large> movements(const Shape& many) {
  const Shape cube = {64, 256, 1024};
  std::vector<Large> all;
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
    all.push_back({"transpose", {{dtype, many}}});
    all.push_back({"permute_dims", {{dtype, cube}}, {{"axes", Integers{2, 1, 0}}}});
    all.push_back({"permute_dims", {{dtype, cube}}, {{"axes", Integers{1, 0, 2}}}});
    all.push_back({"reshape", {{dtype, many}}, {{"shape", Integers{-1}}}});
  }
  return all;
}

/// For softmax and scans that keep a line in registers, two blocks have enough loads in flight to saturate a multiprocessor's bandwidth.
std::vector<Large> lines(const Shape& many) {
  std::vector<Large> all;
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64, DType::i64}) {
    all.push_back({"cumulative_sum", {{dtype, {1 << 24}}}, {{"axis", std::int64_t{0}}}, 3});
    all.push_back({"cumulative_prod", {{dtype, {3, (1 << 20) + 1, 2}}}, {{"axis", std::int64_t{1}}, {"reverse", true}}, 3});
    for (const std::int64_t length : {100, 1000, 8192, 8191, 100000})
      all.push_back({"cumulative_sum", {{dtype, {4096, length}}}, {{"axis", std::int64_t{1}}}, length > 1000 ? 2 : 4});
    for (const std::int64_t length : {64, 4096})
      all.push_back({"cumulative_sum", {{dtype, {length == 64 ? 64 : 1, length, 4096}}}, {{"axis", std::int64_t{1}}}, 3});
  }
  for (const DType dtype : {DType::f32, DType::f16, DType::f64, DType::u8}) {
    for (const char* op : {"sum", "max", "argmax"}) {
      for (const Integers& axes : {Integers{0}, Integers{1}, Integers{0, 1}})
        all.push_back({op, {{dtype, many}}, {{"axis", axes}}, cuda::kReductionBlocks});
      all.push_back({op, {{dtype, {4096, 4097}}}, {{"axis", Integers{1}}}, cuda::kReductionBlocks});
    }
    if (dtype == DType::u8) continue;
    for (const std::int64_t length : {1000, 4096, 100000}) all.push_back({"softmax", {{dtype, {4096, length}}}, {}, 2});
  }
  return all;
}

std::vector<Large> products(const Shape& many) {
  std::vector<Large> all;
  for (const DType dtype : {DType::u8, DType::i32, DType::i64}) {
    all.push_back({"matmul", {{dtype, many}, {dtype, many}}, {}, 2});
    all.push_back({"matmul", {{dtype, {3, 1, 2048, 512}}, {dtype, {5, 512, 2048}}}, {}, 2});
  }
  return all;
}

/// Checks that kernels for `architecture` spill nothing. Returns their number.
std::size_t expect_no_spills(const cuda::CompilerApi& api, const std::vector<Large>& all, const cuda::Architecture& architecture) {
  const Result<UsageCompiler> compiler = UsageCompiler::open(api, architecture);
  if (!compiler) {
    ADD_FAILURE() << compiler.error().message;
    return 0;
  }
  for (const Large& each : all) {
    KernelRequest request;
    request.op = find_op(each.op);
    Attributes attributes = each.attributes;
    EXPECT_FALSE(normalize_call(*request.op, each.inputs.size(), attributes)) << each.op;
    request.attributes = &attributes;
    request.input_types = each.inputs;
    request.result_types = std::get<0>(request.op->type_rule(each.inputs, attributes));
    const std::optional<cuda::KernelSource> source = cuda::kernel_source(request, architecture);
    if (!source) {
      ADD_FAILURE() << each.op;
      continue;
    }
    const Result<std::vector<KernelUsage>> usage = compiler->usage(source->text);
    if (!usage) {
      ADD_FAILURE() << usage.error().message;
      continue;
    }
    expect_room(*source, *usage, each.blocks,
                std::string(each.op) + " of " + to_string(request.result_types[0]) + " on sm_" + std::to_string(architecture.major) +
                    std::to_string(architecture.minor));
  }
  return all.size();
}

/// Kernels that keep much data in registers to have many loads in flight: nothing is spilled, and enough threads are resident.
TEST(CudaNvrtc, KernelsOfLargeTensorsSpillNothing) {
  const Result<cuda::CompilerApi> api = cuda::CompilerApi::load();
  if (!api) GTEST_SKIP() << api.error().message;
  const Shape many = {4096, 4096};
  for (const auto& family : {element_wise, movements, lines, products})
    EXPECT_GT(expect_no_spills(*api, family(many), kArchitectures[1]), 5U);
  // Families that once spilled on other architectures: the compiler decides differently for each.
  for (const std::size_t other : {0, 2}) {
    for (const auto& family : {element_wise, products}) EXPECT_GT(expect_no_spills(*api, family(many), kArchitectures[other]), 5U);
  }
  for (const cuda::Architecture& other : {cuda::Architecture{8, 9, 128}, cuda::Architecture{12, 0, 170}})
    expect_no_spills(*api, {{"random_normal", {}, {{"shape", many}}}}, other);
}

/// Fused operations before a reduction need registers too: sum(f(x) * y).
TEST(CudaNvrtc, ReductionsOfComputedElementsSpillNothing) {
  const Result<cuda::CompilerApi> api = cuda::CompilerApi::load();
  if (!api) GTEST_SKIP() << api.error().message;
  const Result<UsageCompiler> compiler = UsageCompiler::open(*api, kArchitectures[1]);
  ASSERT_TRUE(compiler.ok());
  for (const char* function : {"negative", "tanh", "erf", "log"}) {
    for (const DType dtype : {DType::f32, DType::f16, DType::f64}) {
      for (const std::int64_t axis : {0, 1}) {
        const TensorType elements{dtype, {4096, 4097}}, sums{dtype, {axis == 0 ? 4097 : 4096}};
        const Attributes none, axes = {{"axis", std::vector<std::int64_t>{axis}}};
        KernelRequest request;
        request.op = find_op("sum");
        request.attributes = &axes;
        request.input_types = {elements, elements};
        request.result_types = {sums};
        request.steps = {{{}, find_op(function), &none, {0}, elements},
                         {{}, find_op("multiply"), &none, {2, 1}, elements},
                         {{}, request.op, &axes, {3}, sums}};
        request.written = {2};
        const std::optional<cuda::KernelSource> source = cuda::kernel_source(request, kArchitectures[1]);
        ASSERT_TRUE(source) << function;
        const Result<std::vector<KernelUsage>> usage = compiler->usage(source->text);
        ASSERT_TRUE(usage.ok()) << usage.error().message;
        expect_room(*source, *usage, cuda::kReductionBlocks, std::string("sum of ") + function + " of " + to_string(elements));
      }
    }
  }
}

/// Products that read a transposed operand directly: x' y and x y', with the widest integers, which need most registers.
TEST(CudaNvrtc, ProductsOfTransposesSpillNothing) {
  const Result<cuda::CompilerApi> api = cuda::CompilerApi::load();
  if (!api) GTEST_SKIP() << api.error().message;
  const Attributes none;
  const TensorType square{DType::i64, {4096, 4096}};
  for (const cuda::Architecture& architecture : kArchitectures) {
    const Result<UsageCompiler> compiler = UsageCompiler::open(*api, architecture);
    ASSERT_TRUE(compiler.ok());
    for (const std::size_t turned : {0, 1}) {
      KernelRequest request;
      request.op = find_op("matmul");
      request.attributes = &none;
      request.input_types = {square, square};
      request.result_types = {square};
      request.steps = {{{}, find_op("transpose"), &none, {turned}, square},
                       {{}, request.op, &none, turned == 0 ? std::vector<std::size_t>{2, 1} : std::vector<std::size_t>{0, 2}, square}};
      request.written = {1};
      const std::optional<cuda::KernelSource> source = cuda::kernel_source(request, architecture);
      ASSERT_TRUE(source);
      const Result<std::vector<KernelUsage>> usage = compiler->usage(source->text);
      ASSERT_TRUE(usage.ok()) << usage.error().message;
      expect_room(*source, *usage, 2, "a product with operand " + std::to_string(turned) + " turned");
    }
  }
}

}  // namespace
}  // namespace cleave::testing
