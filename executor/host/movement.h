// Kernels that are one strided copy, which is planned once from types and attributes.
#pragma once

#include "executor/host/kernels.h"
#include "executor/host/strided_copy.h"

namespace cleave::runtime::host {

/// A copy that starts at element `from` of the operand and element `to` of the result.
struct Movement {
  StridedCopy copy;
  std::int64_t from = 0, to = 0;

  void run(const TensorView& x, const TensorView& result, Workers& workers) const {
    const std::int64_t element = size_of(result.type->dtype);
    copy.run(x.data + from * element, result.data + to * element, element, workers);
  }
};

using MovementPlan = Movement (*)(const TensorType& x, const TensorType& result, const Attributes& attributes);

class MovementKernel final : public HostKernel {
 public:
  explicit MovementKernel(const Movement& movement) : movement_(movement) {}
  Status run(const KernelCall& call) override {
    movement_.run(call.inputs[0], call.results[0], call.workers);
    return {};
  }

 private:
  Movement movement_;
};

template <MovementPlan plan>
Status run_movement(const KernelCall& call) {
  plan(*call.inputs[0].type, *call.results[0].type, call.attributes).run(call.inputs[0], call.results[0], call.workers);
  return {};
}
template <MovementPlan plan>
std::unique_ptr<HostKernel> prepare_movement(const KernelRequest& request) {
  return std::make_unique<MovementKernel>(plan(request.input_types[0], request.result_types[0], *request.attributes));
}
template <MovementPlan plan>
constexpr KernelRow movement() {
  return {run_movement<plan>, prepare_movement<plan>};
}

}  // namespace cleave::runtime::host
