// Convolutions through cuDNN, on a fake that computes them by their defining sum and checks arguments as strictly as the library: every
// sample against the reference implementation, calls that the library refuses, every failure, and programs where cuDNN is missing.
#include <vector>

#include "executor/cuda/library/convolution.h"
#include "tests/executor/cuda/library_support.h"
#include "tests/support/kernel_request.h"
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif

namespace cleave::testing {
namespace {

using Integers = std::vector<std::int64_t>;

Array repeating_numbers(Shape shape) {
  Array array(TensorType{DType::f32, std::move(shape)});
  for (std::int64_t i = 0; i < array.size(); ++i) array.mutable_data<float>()[i] = static_cast<float>(i * 7919 % 17 - 8) / 8;
  return array;
}

OpSample conv(Shape x, Shape weights, Integers strides, Integers pads, std::int64_t groups = 1, bool bias = false) {
  OpSample made{find_op("conv"), {repeating_numbers(std::move(x)), repeating_numbers(weights)}, {}};
  if (bias) made.inputs.push_back(repeating_numbers({weights[0]}));
  made.attributes.set("strides", std::move(strides));
  made.attributes.set("pads", std::move(pads));
  made.attributes.set("group", groups);
  return made;
}

using CudaConvolution = CudaLibrary;

TEST_F(CudaConvolution, EqualsTheReference) {
  std::vector<OpSample> samples = op_samples();
  std::erase_if(samples, [](const OpSample& each) { return each.op->name != "conv"; });
  for (const OpSample& each : samples) prepare(program_of(each));
  std::uint64_t variant = 0;
  std::int64_t by_library = 0, by_kernel = 0;
  for (const OpSample& each : samples) {
    SCOPED_TRACE(describe(each));
    check(program_of(each), variant++);
    if (HasFailure()) return;
    ++(counts_["cudnnConvolutionForward"] > 0 ? by_library : by_kernel);
    EXPECT_EQ(counts_["cudnnConvolutionForward"] > 0, cuda::has_convolution(request_for(each)));
  }
  EXPECT_GT(by_library, 10);
  EXPECT_GT(by_kernel, 0) << "of padding that differs";
}

TEST_F(CudaConvolution, LeavesToOurOwnKernelWhatTheLibraryRefuses) {
  const SampleProgram refused = program_of(conv({1, 14, 4, 4}, {7, 2, 3, 3}, {1, 1}, {1, 1}, 7));  // the fake refuses 7 groups
  check(refused, 1);
  EXPECT_GT(counts_["cudnnGetConvolutionForwardAlgorithm_v7"], 0);
  EXPECT_EQ(counts_["cudnnConvolutionForward"], 0);
  EXPECT_EQ(counts_["cuLaunchKernel"] + counts_["cuGraphLaunch"], 4) << "in two runs: the coalesced inputs unpacked, the kernel";
}

TEST_F(CudaConvolution, IsOurOwnKernelWhereTheLibraryIsMissing) {
  check(program_of(conv({2, 3, 5, 5}, {4, 3, 3, 3}, {2, 2}, {1, 1}, 1, true)), 0, false);
  EXPECT_EQ(counts_.count("cudnnCreate"), 0U);
  EXPECT_GT(counts_["cuLaunchKernel"], 0);
}

TEST_F(CudaConvolution, FailsWithOneErrorThatNamesTheCall) {
  check_failures(program_of(conv({2, 3, 5, 5}, {4, 3, 3, 3}, {2, 2}, {1, 1}, 1, true)), "cudnn", "as asked of the fake cuDNN");
}

TEST(CudaDnn, TheInstalledLibraryHasEveryCall) {
  const Result<cuda::DnnApi> api = cuda::DnnApi::load();
  if (!api && api.error().message.find("cannot be opened") != std::string::npos) GTEST_SKIP() << api.error().message;
  ASSERT_TRUE(api.ok()) << api.error().message;
  EXPECT_STREQ(api->cudnnGetErrorString(cuda::DnnResult::success), "CUDNN_STATUS_SUCCESS");
}

#if __has_include(<cudnn.h>)
TEST(CudaDnn, NumbersAreThoseOfTheHeader) {
  EXPECT_EQ(static_cast<int>(cuda::DnnType::f32), CUDNN_DATA_FLOAT);
  EXPECT_EQ(static_cast<int>(cuda::DnnType::f64), CUDNN_DATA_DOUBLE);
  EXPECT_EQ(static_cast<int>(cuda::DnnType::f16), CUDNN_DATA_HALF);
  EXPECT_EQ(static_cast<int>(cuda::DnnType::bf16), CUDNN_DATA_BFLOAT16);
  EXPECT_EQ(static_cast<int>(cuda::DnnMath::standard), CUDNN_DEFAULT_MATH);
  EXPECT_EQ(static_cast<int>(cuda::DnnMath::tensor_cores), CUDNN_TENSOR_OP_MATH);
  EXPECT_EQ(static_cast<int>(cuda::DnnMath::tensor_cores_with_rounding), CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION);
  EXPECT_EQ(static_cast<int>(cuda::DnnMath::multiply_add), CUDNN_FMA_MATH);
  EXPECT_EQ(static_cast<int>(cuda::DnnFormat::channels_first), CUDNN_TENSOR_NCHW);
  EXPECT_EQ(static_cast<int>(cuda::DnnMode::cross_correlation), CUDNN_CROSS_CORRELATION);
  EXPECT_EQ(CUDNN_DETERMINISTIC, 1);
  EXPECT_EQ(sizeof(cuda::DnnOffer), sizeof(cudnnConvolutionFwdAlgoPerf_t));
  EXPECT_EQ(offsetof(cuda::DnnOffer, work_bytes), offsetof(cudnnConvolutionFwdAlgoPerf_t, memory));
  EXPECT_EQ(offsetof(cuda::DnnOffer, math), offsetof(cudnnConvolutionFwdAlgoPerf_t, mathType));
}
#endif

}  // namespace
}  // namespace cleave::testing
