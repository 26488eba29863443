// Samples of operations with their generated kernels, run by the kernel emulator and compared with the reference implementations.
#pragma once

#include <gtest/gtest.h>

#include "executor/check/compare.h"
#include "executor/cuda/kernel_source.h"
#include "graph/ops/convert.h"
#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/kernel_request.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {

using Integers = std::vector<std::int64_t>;
using Order = KernelEmulator::Order;

inline std::vector<Array> results_for(const OpSample& sample) {
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

  /// Runs all kernels and compares each with its reference implementation. Returns their number.
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
    const Status reference = sample.op->reference({sample.attributes, sample.inputs, expected, context});
    const Status kernel = emulator_.run(source, sample.inputs, computed, Order::forward);
    ASSERT_EQ(reference.ok(), kernel.ok()) << (kernel ? reference : kernel).error().message;
    if (!reference.ok()) {
      EXPECT_EQ(kernel.error().message, reference.error().message);
      EXPECT_EQ(kernel.error().kind, ErrorKind::user);
      return;
    }
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

/// Numbers that are the same in every run; they include values with which sums and products stay small.
inline Array numbers(DType dtype, Shape shape) {
  Array array(TensorType{dtype, std::move(shape)});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = array.mutable_data<T>();
    for (std::int64_t i = 0; i < array.size(); ++i) out[i] = ops::convert<T>(static_cast<double>(i * 7919 % 1013) / 256 - 1.5);
  });
  return array;
}

inline OpSample sample(std::string_view op, std::vector<Array> inputs, Attributes attributes = {}) {
  OpSample sample{find_op(op), std::move(inputs), std::move(attributes), false};
  CLEAVE_CHECK(!normalize_call(*sample.op, sample.inputs.size(), sample.attributes), "a sample with wrong attributes");
  return sample;
}

#define CLEAVE_NEEDS_EMULATOR \
  if (const std::string why = KernelEmulator::unavailable(); !why.empty()) GTEST_SKIP() << why

}  // namespace cleave::testing
