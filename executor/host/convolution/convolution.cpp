#include "executor/host/convolution/convolution.h"

#include <algorithm>
#include <vector>

#include "executor/host/convolution/engine.h"
#include "executor/host/fused.h"
#include "executor/host/kernels.h"
#include "executor/host/matmul/product.h"
#include "executor/host/narrow.h"
#include "graph/vocabulary.h"

namespace cleave::runtime::host {
namespace {

/// The indices of the operands among the request's inputs.
struct ConvolutionInputs {
  std::size_t x = 0, weight = 1;
  std::optional<std::size_t> bias = {};
};

ConvolutionInputs places_of(std::span<const std::size_t> operands) {
  return {operands[0], operands[1], operands.size() > 2 ? std::optional(operands[2]) : std::nullopt};
}

std::vector<std::size_t> in_order(std::size_t count) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(i);
  return all;
}

/// The steps after the convolution as a request of their own, which reads the convolution's results in place.
struct Behind {
  KernelRequest request;
  std::vector<std::size_t> inputs;   ///< indices in the whole request; the index after the last stands for the convolution's results
  std::vector<std::size_t> results;  ///< indices in the whole request
};

Behind behind(const KernelRequest& whole) {
  Behind made{whole, {}, {}};
  KernelRequest& request = made.request;
  const std::size_t all = whole.input_types.size();
  for (std::size_t s = 1; s < whole.steps.size(); ++s) {
    for (const std::size_t operand : whole.steps[s].operands)
      if (operand <= all && std::find(made.inputs.begin(), made.inputs.end(), operand) == made.inputs.end()) made.inputs.push_back(operand);
  }
  const auto place = [&](std::size_t operand) {
    if (operand > all) return made.inputs.size() + operand - all - 1;
    return static_cast<std::size_t>(std::find(made.inputs.begin(), made.inputs.end(), operand) - made.inputs.begin());
  };
  request.steps.erase(request.steps.begin());
  for (FusedStep& step : request.steps)
    for (std::size_t& operand : step.operands) operand = place(operand);
  request.input_types.clear();
  for (const std::size_t input : made.inputs) request.input_types.push_back(input == all ? whole.steps[0].type : whole.input_types[input]);
  request.inputs.clear();
  request.results.clear();
  request.written.clear();
  request.result_types.clear();
  for (std::size_t r = 0; r < whole.written.size(); ++r) {
    if (whole.written[r] == 0) continue;
    made.results.push_back(r);
    request.written.push_back(whole.written[r] - 1);
    request.result_types.push_back(whole.result_types[r]);
  }
  return made;
}

/// A convolution whose window covers the whole input, as in the last layers of networks, is a matrix product with few rows.
std::optional<MatmulPlan> as_product(const ops::Convolution& conv, DType dtype, bool bias) {
  const bool whole = std::all_of(conv.window.begin(), conv.window.end(), [](const ops::WindowAxis& axis) {
    return axis.out == 1 && axis.in == axis.kernel && axis.dilation == 1 && axis.before == 0 && axis.after == 0;
  });
  if (!whole || conv.groups != 1) return std::nullopt;
  MatmulPlan plan;
  plan.dtype = dtype;
  plan.m = conv.batch;
  plan.n = conv.outputs;
  plan.k = conv.depth();
  plan.transpose_b = true;
  plan.epilogue = bias ? Epilogue::bias : Epilogue::none;
  return plan;
}

template <class T>
class ConvolutionKernel final : public HostKernel {
 public:
  ConvolutionKernel(const ConvolutionInputs& places, const ops::Convolution& conv, DType dtype) : places_(places) {
    if (const auto plan = as_product(conv, dtype, places.bias.has_value())) {
      product_.emplace(*plan);
    } else {
      engine_.emplace(conv);
    }
  }
  /// Adds the steps after the convolution.
  void add_steps(const KernelRequest& request) {
    const Behind steps = behind(request);
    behind_ = prepare_parts(*without_movement(steps.request));
    inputs_ = steps.inputs;
    views_.resize(inputs_.size());
    results_ = steps.results;
    result_views_.resize(results_.size());
    const auto own = std::find(request.written.begin(), request.written.end(), std::size_t{0});
    place_ = static_cast<std::size_t>(own - request.written.begin());
    if (own == request.written.end()) --place_;  // the convolution writes to the last step's result
    type_ = request.steps[0].type;
  }

  Status run(const KernelCall& call) override {
    const T *x = call.inputs[places_.x].template as<T>(), *weight = call.inputs[places_.weight].template as<T>();
    const T* bias = places_.bias ? call.inputs[*places_.bias].template as<T>() : nullptr;
    T* y = call.results[place_].template as<T>();
    for (std::size_t i = 0; i < results_.size(); ++i) result_views_[i] = call.results[results_[i]];
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      views_[i] = inputs_[i] < call.inputs.size() ? call.inputs[inputs_[i]] : TensorView{&type_, call.results[place_].data};
    const KernelCall steps{call.op, call.attributes, views_, result_views_, call.context, call.workers};
    if (behind_) behind_->start(steps);
    if (product_) {
      product_->run(call.workers, x, weight, y, bias);
      if (behind_) behind_->run_all(steps);
      return {};
    }
    engine_->run(call.workers, x, weight, bias, y, {behind_.get(), &steps});
    return {};
  }

 private:
  ConvolutionInputs places_;
  std::optional<Product<T>> product_;
  std::optional<ConvolutionEngine<T>> engine_;
  std::unique_ptr<PartKernel> behind_;
  std::vector<std::size_t> inputs_;   ///< by input of `behind_`
  std::vector<std::size_t> results_;  ///< by result of `behind_`
  std::vector<TensorView> views_, result_views_;
  std::size_t place_ = 0;  ///< index of the result that holds the convolution's results
  TensorType type_;
};

/// A convolution of f16 or bf16.
template <class T>
std::unique_ptr<HostKernel> narrow_convolution(const ops::Convolution& conv) {
  auto compute = [engine = std::make_unique<ConvolutionEngine<float>>(conv)](Workers& workers, std::span<const float* const> operands,
                                                                             float* y) {
    engine->run(workers, operands[0], operands[1], operands.size() > 2 ? operands[2] : nullptr, y, {});
  };
  return std::make_unique<NarrowKernel<T, decltype(compute)>>(std::move(compute));
}

std::unique_ptr<HostKernel> prepare_convolution(const KernelRequest& request) {
  const ops::Convolution conv = ops::convolution_of(request.input_types, *request.attributes);
  const ConvolutionInputs places = places_of(in_order(request.input_types.size()));
  const DType dtype = request.result_types[0].dtype;
  if (!Planes::fit(conv.window)) return plain_kernel(run_reference);
  switch (dtype) {
    case DType::f32: return std::make_unique<ConvolutionKernel<float>>(places, conv, dtype);
    case DType::f64: return std::make_unique<ConvolutionKernel<double>>(places, conv, dtype);
    case DType::f16: return narrow_convolution<Half>(conv);
    case DType::bf16: return narrow_convolution<BFloat16>(conv);
    default: return plain_kernel(run_reference);
  }
}

Status convolution_kernel(const KernelCall& call) {
  KernelRequest request{{}, &call.op, &call.attributes, {}, {}, {}, {}, {}, {}};
  for (const TensorView& input : call.inputs) request.input_types.push_back(*input.type);
  for (const TensorView& result : call.results) request.result_types.push_back(*result.type);
  return prepare_convolution(request)->run(call);
}

std::vector<TensorType> types_of(const KernelRequest& request, const FusedStep& first) {
  std::vector<TensorType> types;
  for (const std::size_t operand : first.operands) types.push_back(request.input_types[operand]);
  return types;
}

}  // namespace

bool fuses_convolution(const KernelRequest& request) {
  if (request.steps.size() < 2 || request.steps[0].op != &op::conv) return false;
  const FusedStep& first = request.steps[0];
  const DType dtype = first.type.dtype;
  if ((dtype != DType::f32 && dtype != DType::f64) || request.written.empty() || request.written.back() + 1 != request.steps.size())
    return false;
  // The convolution may write to the result of whichever step is last, so all types must be equal.
  const bool alike =
      std::all_of(request.steps.begin(), request.steps.end(), [&](const FusedStep& step) { return step.type == first.type; });
  if (!alike) return false;
  const Behind steps = behind(request);
  return fuses_elementwise(steps.request) && without_movement(steps.request) &&
         Planes::fit(ops::convolution_of(types_of(request, first), *first.attributes).window);
}

std::unique_ptr<HostKernel> prepare_fused_convolution(const KernelRequest& request) {
  if (!fuses_convolution(request)) return nullptr;
  const FusedStep& first = request.steps[0];
  const ops::Convolution conv = ops::convolution_of(types_of(request, first), *first.attributes);
  const auto make = [&](auto kernel) -> std::unique_ptr<HostKernel> {
    kernel->add_steps(request);
    return kernel;
  };
  if (first.type.dtype == DType::f32) return make(std::make_unique<ConvolutionKernel<float>>(places_of(first.operands), conv, DType::f32));
  return make(std::make_unique<ConvolutionKernel<double>>(places_of(first.operands), conv, DType::f64));
}

constexpr KernelRow rows::conv{convolution_kernel, prepare_convolution};

}  // namespace cleave::runtime::host
