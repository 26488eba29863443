// Kernels of running sums and products, on the emulator: lines of every length, along every axis, in both directions, for small and large
// machines. Also the number of synchronizations among their threads.
#include "tests/executor/cuda/kernel_samples.h"

namespace cleave::testing {
namespace {

TEST(CudaScans, SumShortAndLongLines) {
  CLEAVE_NEEDS_EMULATOR;
  for (const int multiprocessors : {1, 132}) {
    Kernels kernels({9, 0, multiprocessors});
    for (const DType dtype : {DType::f32, DType::f16, DType::f64, DType::i32, DType::i64, DType::u8, DType::boolean}) {
      for (const std::int64_t length : {1, 3, 5, 31, 130, 1025, 5000}) kernels.add(sample("cumulative_sum", {numbers(dtype, {length})}));
      for (const std::int64_t length : {2048, 8191, 8192})
        kernels.add(sample("cumulative_sum", {numbers(dtype, {2, length})}, {{"axis", std::int64_t{1}}}));
      for (const Shape& shape : {Shape{3, 50, 40}, Shape{2, 300, 37}, Shape{2, 700, 3}, Shape{4, 0, 3}, Shape{5, 3, 2}})
        kernels.add(sample("cumulative_sum", {numbers(dtype, shape)}, {{"axis", std::int64_t{1}}}));
    }
    for (const Shape& shape : {Shape{40000}, Shape{2, 20000}})
      kernels.add(sample("cumulative_sum", {numbers(DType::f64, shape)}, {{"axis", std::int64_t{-1}}}));
    kernels.add(sample("cumulative_sum", {numbers(DType::i64, {20001, 2})}, {{"axis", std::int64_t{0}}}));
    for (const DType dtype : {DType::f32, DType::u8, DType::i64})  // with one processor, a team iterates along its line
      kernels.add(sample("cumulative_sum", {numbers(dtype, {5, dtype == DType::u8 ? 8196 : 9001})}, {{"axis", std::int64_t{1}}}));
    for (const DType dtype : {DType::f32, DType::u8, DType::i64})  // parts in several groups, distinguished from lines
      kernels.add(sample("cumulative_sum", {numbers(dtype, {2, 140004})}, {{"axis", std::int64_t{1}}}));
    kernels.add(sample("cumulative_sum", {Array::of<std::int64_t>({2}, {std::numeric_limits<std::int64_t>::max(), 2})}));
    EXPECT_GT(kernels.check(), 70U);
  }
}

/// A team that keeps its line in registers synchronizes only when its warps exchange their sums; shorter lines need no synchronization.
TEST(CudaScans, TeamsOfShortLinesMeetOnce) {
  const auto kernel_of = [](std::int64_t length) {
    const OpSample lines = sample("cumulative_sum", {Array(TensorType{DType::f32, {600, length}})}, {{"axis", std::int64_t{1}}});
    const std::string text = cuda::kernel_source(request_for(lines), {9, 0, 132})->text;
    return text.substr(text.find("extern \"C\""));
  };
  for (const std::int64_t length : {5, 1000, 8191, 8192}) {
    EXPECT_EQ(kernel_of(length).find("__syncthreads"), std::string::npos) << length;
    EXPECT_NE(kernel_of(length).find("merge_rounds_in_front<"), std::string::npos) << length;
  }
  EXPECT_NE(kernel_of(8193).find("__syncthreads"), std::string::npos);
}

TEST(CudaScans, SumAndMultiplyFromBothEnds) {
  CLEAVE_NEEDS_EMULATOR;
  for (const int multiprocessors : {1, 132}) {
    Kernels kernels({9, 0, multiprocessors});
    for (const char* op : {"cumulative_sum", "cumulative_prod"}) {
      for (const auto& [exclusive, reverse] :
           {std::pair(true, false), std::pair(false, true), std::pair(true, true), std::pair(false, false)}) {
        const auto along = [&, exclusive = exclusive, reverse = reverse](std::int64_t axis) {
          return Attributes{{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}};
        };
        for (const std::int64_t length : {1, 130, 5000, 20000, 20001}) kernels.add(sample(op, {numbers(DType::i32, {length})}, along(0)));
        for (const Shape& shape : {Shape{3, 50, 40}, Shape{2, 700, 3}, Shape{1, 131, 64}, Shape{1, 2100, 2}, Shape{4, 8200, 1}})
          kernels.add(sample(op, {numbers(DType::i64, shape)}, along(1)));
      }
    }
    EXPECT_GT(kernels.check(), 30U);
  }
}

}  // namespace
}  // namespace cleave::testing
