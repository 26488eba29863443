// Every generated CUDA kernel, run by the kernel emulator, against the op's meaning: on the one table of op samples and on shapes that
// reach each way a kernel may be written: whole and split, in packs and one by one, with narrow and with wide indices.
#include <gtest/gtest.h>

#include <cstring>

#include "executor/compare.h"
#include "graph/ops/convert.h"
#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {
namespace {

using Integers = std::vector<std::int64_t>;
using Order = KernelEmulator::Order;

KernelRequest request_for(const OpSample& sample) {
  KernelRequest request;
  request.op = sample.op;
  request.attributes = &sample.attributes;
  for (const Array& input : sample.inputs) request.input_types.push_back(input.type());
  request.result_types = std::get<0>(sample.op->type_rule(request.input_types, sample.attributes));
  return request;
}

std::vector<Array> results_for(const OpSample& sample) {
  std::vector<Array> results;
  for (const TensorType& type : request_for(sample).result_types) results.emplace_back(type);
  return results;
}

/// Samples with their kernels, compiled together.
class Kernels {
 public:
  explicit Kernels(const cuda::Architecture& architecture) : architecture_(architecture) {}

  void add(OpSample sample) {
    std::optional<cuda::KernelSource> source = cuda::kernel_source(request_for(sample), architecture_);
    if (!source) return;
    emulator_.add(*source);
    all_.push_back({std::move(sample), *std::move(source)});
  }

  /// Runs all kernels; each agrees with its meaning. How many there are.
  std::size_t check() {
    if (const std::string why = KernelEmulator::unavailable(); !why.empty()) return 0;
    for (const auto& [sample, source] : all_) {
      SCOPED_TRACE(describe(sample));
      check(sample, source);
      if (::testing::Test::HasFailure()) {
        ADD_FAILURE() << source.text.substr(source.text.find("extern \"C\""));
        break;
      }
    }
    return all_.size();
  }

 private:
  void check(const OpSample& sample, const cuda::KernelSource& source) {
    std::vector<Array> computed = results_for(sample), backwards = results_for(sample), expected = results_for(sample);
    const OpContext context{[](std::string_view) {}};
    const Status meaning = sample.op->meaning({sample.attributes, sample.inputs, expected, context});
    const Status kernel = emulator_.run(source, sample.inputs, computed, Order::forward);
    ASSERT_EQ(meaning.ok(), kernel.ok()) << (kernel ? meaning : kernel).error().message;
    if (!meaning.ok()) return;
    ASSERT_TRUE(emulator_.run(source, sample.inputs, backwards, Order::backward).ok());
    const double length = reduction_length(*sample.op, sample.attributes, sample.inputs, expected);
    for (std::size_t i = 0; i < computed.size(); ++i) {
      EXPECT_EQ(difference(computed[i], expected[i], length).value_or(""), "");
      EXPECT_TRUE(computed[i] == backwards[i]) << "another order of the threads gives another result";
      const bool bits = sample.op->name.starts_with("random_");
      EXPECT_TRUE(!bits || computed[i] == expected[i]) << "not every bit is the host's";
    }
  }

  const cuda::Architecture architecture_;
  KernelEmulator emulator_;
  std::vector<std::pair<OpSample, cuda::KernelSource>> all_;
};

/// Numbers that are the same in every run, with some of which sums and products stay small.
Array numbers(DType dtype, Shape shape) {
  Array array(TensorType{dtype, std::move(shape)});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = array.mutable_data<T>();
    for (std::int64_t i = 0; i < array.size(); ++i) out[i] = ops::convert<T>(static_cast<double>(i * 7919 % 1013) / 256 - 1.5);
  });
  return array;
}

OpSample sample(std::string_view op, std::vector<Array> inputs, Attributes attributes = {}) {
  OpSample sample{find_op(op), std::move(inputs), std::move(attributes), false};
  CLEAVE_CHECK(!normalize_call(*sample.op, sample.inputs.size(), sample.attributes), "a sample with wrong attributes");
  return sample;
}

#define CLEAVE_NEEDS_EMULATOR \
  if (const std::string why = KernelEmulator::unavailable(); !why.empty()) GTEST_SKIP() << why

TEST(CudaKernels, AgreeWithTheMeanings) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({9, 0, 132});
  for (OpSample& each : op_samples()) kernels.add(std::move(each));
  EXPECT_GT(kernels.check(), 300U);
}

TEST(CudaKernels, AgreeWithTheMeaningsWhereIndicesAreWide) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({9, 0, 2, 0});
  for (OpSample& each : op_samples()) {
    if (each.inputs.empty() || each.inputs[0].dtype() == DType::f32) kernels.add(std::move(each));
  }
  EXPECT_GT(kernels.check(), 100U);
}

TEST(CudaKernels, TakeSeveralElementsAtOnce) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({9, 0, 1});
  const std::vector<std::vector<Shape>> shapes = {{{64}, {64}},         {{67}, {67}},          {{5}, {5}},
                                                  {{4096}, {4096}},     {{16, 32}, {32}},      {{16, 32}, {16, 1}},
                                                  {{3, 8, 16}, {8, 1}}, {{2, 3, 12}, {3, 12}}, {{6, 5, 4, 8}, {6, 1, 4, 1}},
                                                  {{1, 9}, {7, 1}},     {{40, 3}, {3}},        {{}, {64}}};
  for (const DType dtype : {DType::f32, DType::f16, DType::f64, DType::u8}) {
    for (const auto& pair : shapes) kernels.add(sample("add", {numbers(dtype, pair[0]), numbers(dtype, pair[1])}));
    kernels.add(sample("less", {numbers(dtype, {8, 64}), numbers(dtype, {64})}));
    for (const DType target : {DType::f64, DType::boolean}) kernels.add(sample("astype", {numbers(dtype, {67})}, {{"dtype", target}}));
  }
  EXPECT_GT(kernels.check(), 50U);
}

TEST(CudaKernels, ReduceShapesOfAllKinds) {
  CLEAVE_NEEDS_EMULATOR;
  for (const int multiprocessors : {1, 132}) {
    Kernels kernels({9, 0, multiprocessors});
    for (const char* op : {"sum", "mean", "max", "prod", "all"}) {
      for (const auto& [shape, axes] : std::vector<std::pair<Shape, Integers>>{{{20000}, {0}},
                                                                               {{1, 20001}, {1}},
                                                                               {{3, 4096}, {1}},
                                                                               {{4099, 3}, {0}},
                                                                               {{5000, 40}, {0}},
                                                                               {{2, 300}, {0}},
                                                                               {{300, 2}, {1}},
                                                                               {{70, 33}, {}},
                                                                               {{6, 50, 7}, {1}},
                                                                               {{6, 50, 8}, {0, 2}},
                                                                               {{6, 5, 7, 4}, {1, 3}},
                                                                               {{6, 5, 7, 4}, {0, 2}},
                                                                               {{0, 5}, {1}},
                                                                               {{400, 16}, {1}},
                                                                               {{1, 1}, {0}},
                                                                               {{2, 64, 64}, {1, 2}}}) {
        kernels.add(sample(op, {numbers(DType::f32, shape)}, {{"axis", axes}}));
      }
    }
    for (const char* op : {"sum", "min"}) {
      for (const DType dtype : {DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8}) {
        kernels.add(sample(op, {numbers(dtype, {5000})}));
        kernels.add(sample(op, {numbers(dtype, {3000, 5})}, {{"axis", std::int64_t{0}}}));
      }
    }
    EXPECT_GT(kernels.check(), 80U);
    if (HasFailure()) return;
  }
}

TEST(CudaKernels, KeepNanAndTheOrderOfZeros) {
  CLEAVE_NEEDS_EMULATOR;
  Kernels kernels({9, 0, 132});
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const char* op : {"max", "min", "sum", "prod", "any", "all"}) {
    kernels.add(sample(op, {Array::of<float>({6}, {1, nan, 3, infinity, -infinity, 2})}));
    kernels.add(sample(op, {Array::of<float>({2}, {-infinity, -infinity})}));
    kernels.add(sample(op, {Array::of<float>({2}, {infinity, infinity})}));
    kernels.add(sample(op, {Array::of<float>({2}, {1e30F, 1e30F})}));
    kernels.add(sample(op, {Array::of<std::int32_t>({2}, {std::numeric_limits<std::int32_t>::min(), -1})}));
    kernels.add(sample(op, {Array::of<std::int64_t>({2}, {std::numeric_limits<std::int64_t>::max(), 2})}));
  }
  EXPECT_GT(kernels.check(), 30U);
}

TEST(CudaKernels, HasKernelSaysWhatKernelSourceDoes) {
  for (const OpSample& each : op_samples()) {
    const KernelRequest request = request_for(each);
    EXPECT_EQ(cuda::has_kernel(request), cuda::kernel_source(request, {}).has_value()) << describe(each);
  }
}

}  // namespace
}  // namespace cleave::testing
