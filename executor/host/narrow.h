// A kernel of f16 or bf16 that computes in f32: operands are widened, and the result is rounded once.
#pragma once

#include <vector>

#include "executor/device/kernel.h"

namespace cleave::runtime::host {

/// `Compute(workers, operands, result)` computes the single result from the operands, in f32.
template <class T, class Compute>
class NarrowKernel final : public HostKernel {
 public:
  explicit NarrowKernel(Compute compute) : compute_(std::move(compute)) {}

  Status run(const KernelCall& call) override {
    wide_.resize(call.inputs.size());
    std::vector<const float*> operands;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) operands.push_back(widen(call, call.inputs[i], wide_[i]));
    const std::int64_t count = call.results[0].type->elements();
    wide_result_.resize(static_cast<std::size_t>(count));
    compute_(call.workers, operands, wide_result_.data());
    T* result = call.results[0].template as<T>();
    call.workers.each_part(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) result[i] = T(wide_result_[static_cast<std::size_t>(i)]);
    });
    return {};
  }

 private:
  static constexpr std::int64_t kGrain = Workers::kWorthwhileBytes / 2;

  static const float* widen(const KernelCall& call, const TensorView& view, std::vector<float>& wide) {
    const std::int64_t count = view.type->elements();
    wide.resize(static_cast<std::size_t>(count));
    const T* narrow = view.as<const T>();
    call.workers.each_part(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) wide[static_cast<std::size_t>(i)] = static_cast<float>(narrow[i]);
    });
    return wide.data();
  }

  Compute compute_;
  std::vector<std::vector<float>> wide_;
  std::vector<float> wide_result_;
};

}  // namespace cleave::runtime::host
