// The text of the CUDA kernels through the real NVRTC, which needs no GPU: every op and element type compiles, for every architecture that
// cleave names.
#include <gtest/gtest.h>

#include <map>

#include "executor/cuda/compiler.h"
#include "graph/ops/op_table.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {
namespace {

constexpr cuda::Architecture kArchitectures[] = {{8, 0, 108}, {9, 0, 132}, {10, 0, 148}};

KernelRequest request_for(const OpSample& sample) {
  KernelRequest request;
  request.op = sample.op;
  request.attributes = &sample.attributes;
  for (const Array& input : sample.inputs) request.input_types.push_back(input.type());
  request.result_types = std::get<0>(sample.op->type_rule(request.input_types, sample.attributes));
  return request;
}

TEST(CudaNvrtc, EveryKernelCompiles) {
  Result<cuda::CompilerApi> api = cuda::CompilerApi::load();
  if (!api) GTEST_SKIP() << api.error().message;
  // One text of each op, element type and form of its operands; the architectures in turn.
  std::map<std::string, std::string> texts;
  for (const OpSample& sample : op_samples()) {
    const KernelRequest request = request_for(sample);
    const std::optional<cuda::KernelSource> source = cuda::kernel_source(request, kArchitectures[0]);
    if (source && !source->launches.empty()) texts.emplace(source->text, describe(sample));
  }
  std::size_t turn = 0;
  for (const auto& [text, what] : texts) {
    const cuda::Architecture& architecture = kArchitectures[turn++ % std::size(kArchitectures)];
    Result<cuda::Compiler> compiler = cuda::Compiler::open(*api, architecture, {});
    ASSERT_TRUE(compiler.ok());
    const Result<std::string> image = compiler->image(text);
    EXPECT_TRUE(image.ok()) << what << " for sm_" << architecture.major << architecture.minor << ": " << image.error().message << "\n"
                            << text;
    if (HasFailure()) return;
  }
  EXPECT_GT(texts.size(), 100U);
}

}  // namespace
}  // namespace cleave::testing
