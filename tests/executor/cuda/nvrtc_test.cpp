// The text of the CUDA kernels through the real NVRTC, which needs no GPU: it compiles, for every architecture that cleave names.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "executor/cuda/compiler.h"
#include "graph/ops/op_table.h"
#include "tests/support/kernel_request.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

constexpr cuda::Architecture kArchitectures[] = {{8, 0, 108}, {9, 0, 132}, {10, 0, 148}};

TEST(CudaNvrtc, EveryOpCompiles) {
  Result<cuda::CompilerApi> api = cuda::CompilerApi::load();
  if (!api) GTEST_SKIP() << api.error().message;
  // Each op once, on its largest sample, and every twentieth text beside; the architectures in turn. CLEAVE_TEST_ALL_KERNELS: all texts.
  const bool all = std::getenv("CLEAVE_TEST_ALL_KERNELS") != nullptr;
  std::map<std::string, std::pair<std::int64_t, OpSample>> largest;
  std::map<std::string, std::string> texts;
  const auto add = [&](const OpSample& sample) {
    const std::optional<cuda::KernelSource> source = cuda::kernel_source(request_for(sample), kArchitectures[0]);
    if (source && !source->launches.empty()) texts.emplace(source->text, describe(sample));
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
  for (const auto& [text, what] : texts) {
    const cuda::Architecture& architecture = kArchitectures[turn++ % std::size(kArchitectures)];
    Result<cuda::Compiler> compiler = cuda::Compiler::open(*api, architecture, {});
    ASSERT_TRUE(compiler.ok());
    const Result<std::string> image = compiler->image(text);
    ASSERT_TRUE(image.ok()) << what << " for sm_" << architecture.major << architecture.minor << ": " << image.error().message << "\n"
                            << text;
  }
}

}  // namespace
}  // namespace cleave::testing
