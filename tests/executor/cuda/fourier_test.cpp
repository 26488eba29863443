// Fourier transforms through cuFFT, on a fake that computes them by their defining sum and checks arguments as strictly as the library:
// every kind, length and axis against the reference implementation, every failure, and programs where cuFFT is missing.
#include <set>

#include "executor/cuda/library/library_op.h"
#include "tests/executor/cuda/library_support.h"
#if __has_include(<cufft.h>)
#include <cufft.h>
#endif

namespace cleave::testing {
namespace {

using Integers = std::vector<std::int64_t>;

OpSample transform_sample(const char* op, DType dtype, Shape shape, std::int64_t axis, std::optional<std::int64_t> n = {}) {
  OpSample made{find_op(op), {Array(TensorType{dtype, std::move(shape)})}, {{"axis", axis}}};
  if (n) made.attributes.set("n", *n);
  Array& x = made.inputs[0];
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double value = static_cast<double>(i * 7919 % 201 - 100) / 100;
    if (dtype == DType::f32) {
      x.mutable_data<float>()[i] = static_cast<float>(value);
    } else {
      x.mutable_data<double>()[i] = value;
    }
  }
  return made;
}

using CudaFourier = CudaLibrary;

TEST_F(CudaFourier, EqualsTheReference) {
  std::uint64_t variant = 0;
  std::set<std::string> seen;
  for (const OpSample& each : op_samples()) {
    if (family_of(each.op->name) != "fourier") continue;
    SCOPED_TRACE(describe(each));
    seen.insert(std::string(each.op->name));
    check(program_of(each), variant++);
    if (HasFailure()) return;
  }
  EXPECT_EQ(seen.size(), 4U);
}

/// Transforms along the first, the last and a middle axis, with odd and even extents, so that only the first line is certain to be aligned.
TEST_F(CudaFourier, StepsAlongEveryAxis) {
  std::uint64_t variant = 0;
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t axis : {0, 1, 2}) {
      for (const std::int64_t odd : {0, 1}) {
        SCOPED_TRACE("axis " + std::to_string(axis) + ", odd " + std::to_string(odd));
        const Shape shape = {3 + odd, 4 + odd, 5 - odd}, pairs = {3 + odd, 4 + odd, 5 - odd, 2};
        for (const char* op : {"fft", "ifft"}) check(program_of(transform_sample(op, dtype, pairs, axis)), variant++);
        check(program_of(transform_sample("rfft", dtype, shape, axis)), variant++);
        const std::int64_t even = 2 * (shape[static_cast<std::size_t>(axis)] - 1);
        for (const std::int64_t n : {even, even + 1}) check(program_of(transform_sample("irfft", dtype, pairs, axis, n)), variant++);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(CudaFourier, IsOneCallWhereverTheLinesAre) {
  for (const std::int64_t axis : {0, 1, 2}) {
    check(program_of(transform_sample("fft", DType::f32, {3, 4, 5, 2}, axis)), 0);
    EXPECT_EQ(counts_["cufftExecC2C"], 2) << "of two runs, along " << axis;
    EXPECT_EQ(counts_["cufftMakePlanMany64"], 1);
    EXPECT_EQ(counts_["cuLaunchKernel"], axis == 1 ? 4 : 0) << "only lines between others are laid end to end";
  }
}

TEST_F(CudaFourier, RunsOnTheHostWhereTheLibraryIsMissing) {
  const SampleProgram program = program_of(transform_sample("irfft", DType::f64, {3, 4, 5, 2}, 1, 7));
  const auto supports = [&](const auto& libraries) {
    for (std::size_t n = 0; n < program.graph->nodes.size(); ++n)
      if (program.graph->nodes[NodeId(n)].op == find_op("irfft")) return cuda::back_end(libraries).supports(*program.graph, NodeId(n));
    return false;
  };
  EXPECT_FALSE(supports(FakeDriver::no_libraries()));
  EXPECT_TRUE(supports(FakeDriver::libraries()));
  check(program, 1, false);
  EXPECT_EQ(counts_.count("cufftCreate"), 0U);
}

TEST_F(CudaFourier, FailsWithOneErrorThatNamesTheCall) {
  check_failures(program_of(transform_sample("irfft", DType::f32, {3, 4, 5, 2}, 1, 7)), "cufft", "CUFFT_INTERNAL_ERROR");
}

TEST(CudaFft, TheInstalledLibraryHasEveryCall) {
  const Result<cuda::FftApi> api = cuda::FftApi::load();
  if (!api && api.error().message.find("cannot be opened") != std::string::npos) GTEST_SKIP() << api.error().message;
  ASSERT_TRUE(api.ok()) << api.error().message;
  int version = 0;
  EXPECT_EQ(api->cufftGetVersion(&version), cuda::FftResult::success);
  EXPECT_GE(version, 11000);
}

#if __has_include(<cufft.h>)
TEST(CudaFft, NumbersAreThoseOfTheHeader) {
  EXPECT_EQ(static_cast<int>(cuda::FftType::r2c), CUFFT_R2C);
  EXPECT_EQ(static_cast<int>(cuda::FftType::c2r), CUFFT_C2R);
  EXPECT_EQ(static_cast<int>(cuda::FftType::c2c), CUFFT_C2C);
  EXPECT_EQ(static_cast<int>(cuda::FftType::d2z), CUFFT_D2Z);
  EXPECT_EQ(static_cast<int>(cuda::FftType::z2d), CUFFT_Z2D);
  EXPECT_EQ(static_cast<int>(cuda::FftType::z2z), CUFFT_Z2Z);
  EXPECT_EQ(cuda::kFftForward, CUFFT_FORWARD);
  EXPECT_EQ(cuda::kFftInverse, CUFFT_INVERSE);
  EXPECT_TRUE((std::is_same_v<cuda::FftHandle, cufftHandle>));
  EXPECT_EQ(sizeof(cuda::FftType), sizeof(cufftType));
  EXPECT_EQ(sizeof(cuda::FftResult), sizeof(cufftResult));
  // The types of the calls must match in number and sizes of parameters: a table's entry is the real function's address.
  using Plan = cufftResult (*)(cufftHandle, int, long long*, long long*, long long, long long, long long*, long long, long long, cufftType,
                               long long, std::size_t*);
  EXPECT_TRUE((std::is_same_v<Plan, decltype(&cufftMakePlanMany64)>));
}
#endif

}  // namespace
}  // namespace cleave::testing
