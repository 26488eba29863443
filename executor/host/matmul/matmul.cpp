#include "executor/host/matmul/matmul.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "executor/device/keeps_constants.h"
#include "executor/host/kernels.h"
#include "executor/host/matmul/product.h"

namespace cleave::runtime::host {
namespace {

bool has_code(DType dtype) {
  return dtype != DType::boolean;
}

/// The indices of the operands among the request's inputs.
struct MatmulInputs {
  std::size_t a = 0, b = 1, bias = 0;
};

/// A product of types that are computed as stored; signed integers are computed as unsigned ones, which wrap.
template <class T>
class MatmulKernel final : public HostKernel, public KeepsConstants {
 public:
  MatmulKernel(const MatmulInputs& places, const MatmulPlan& plan) : places_(places), has_bias_(has_bias(plan.epilogue)), product_(plan) {
    if (product_.would_keep()) keeping_.emplace(plan, true);
  }

  Status run(const KernelCall& call) override {
    const T* bias = has_bias_ ? call.inputs[places_.bias].template as<const T>() : nullptr;
    const bool keeps = keeping_ && call.keeps(places_.b);
    if (keeps) keeping_->share(call.constants);
    (keeps ? *keeping_ : product_)
        .run(call.workers, call.inputs[places_.a].template as<const T>(), call.inputs[places_.b].template as<const T>(),
             call.results[0].template as<T>(), bias);
    return {};
  }
  void keep(const KernelCall& call) override {
    if (!keeping_ || !call.keeps(places_.b)) return;
    keeping_->share(call.constants);
    keeping_->keep(call.workers, call.inputs[places_.b].template as<const T>());
  }

 private:
  MatmulInputs places_;
  bool has_bias_;
  Product<T> product_;
  std::optional<Product<T>> keeping_;  ///< keeps packed weights, if that is faster
};

/// Widens an operand's elements into `wide`.
template <class T, class Wide>
const Wide* widened(const KernelCall& call, const TensorView& view, std::vector<Wide>& wide) {
  constexpr std::int64_t kGrain = Workers::kWorthwhileBytes / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t count = view.type->elements();
  wide.resize(static_cast<std::size_t>(count));
  const T* narrow = view.as<const T>();
  call.workers.each_part(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) wide[static_cast<std::size_t>(i)] = static_cast<Wide>(narrow[i]);
  });
  return wide.data();
}

/// A product of 8- and 16-bit integers. Sums have the result's width, 32 or 64 bits, and are unsigned, so that they wrap.
template <class T, class Sum>
class SmallIntegerMatmulKernel final : public HostKernel {
 public:
  SmallIntegerMatmulKernel(const MatmulInputs& places, const MatmulPlan& plan) : places_(places), product_(plan) {}

  Status run(const KernelCall& call) override {
    const Sum* a = widened<T>(call, call.inputs[places_.a], wide_[0]);
    const Sum* b = widened<T>(call, call.inputs[places_.b], wide_[1]);
    product_.run(call.workers, a, b, call.results[0].template as<Sum>(), nullptr);
    return {};
  }

 private:
  MatmulInputs places_;
  Product<Sum> product_;
  std::vector<Sum> wide_[2];
};
template <class T>
std::unique_ptr<HostKernel> small_integer_matmul(const MatmulInputs& places, const MatmulPlan& plan, DType result) {
  if (size_of(result) == 8) return std::make_unique<SmallIntegerMatmulKernel<T, std::uint64_t>>(places, plan);
  return std::make_unique<SmallIntegerMatmulKernel<T, std::uint32_t>>(places, plan);
}

/// A product of f16 or bf16: operands are widened, and the result is rounded once.
template <class T>
class NarrowMatmulKernel final : public HostKernel {
 public:
  NarrowMatmulKernel(const MatmulInputs& places, const MatmulPlan& plan) : places_(places), product_(plan) {}

  Status run(const KernelCall& call) override {
    const float* a = widened<T>(call, call.inputs[places_.a], wide_[0]);
    const float* b = widened<T>(call, call.inputs[places_.b], wide_[1]);
    const std::int64_t count = call.results[0].type->elements();
    wide_[2].resize(static_cast<std::size_t>(count));
    product_.run(call.workers, a, b, wide_[2].data(), nullptr);
    T* result = call.results[0].template as<T>();
    call.workers.each_part(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) result[i] = T(wide_[2][static_cast<std::size_t>(i)]);
    });
    return {};
  }

 private:
  static constexpr std::int64_t kGrain = Workers::kWorthwhileBytes / 2;

  MatmulInputs places_;
  Product<float> product_;
  std::vector<float> wide_[3];
};

Status matmul_kernel(const KernelCall& call) {
  KernelRequest request{{}, &call.op, &call.attributes, {}, {}, {}, {}, {}, {}};
  for (const TensorView& input : call.inputs) request.input_types.push_back(*input.type);
  for (const TensorView& result : call.results) request.result_types.push_back(*result.type);
  const std::unique_ptr<HostKernel> kernel = prepare_matmul(request);
  return kernel ? kernel->run(call) : run_reference(call);
}

}  // namespace

bool has_matmul(const KernelRequest& request) {
  const std::optional<MatmulRequest> found = find_matmul(request);
  if (!found || !has_code(found->c_type.dtype)) return false;
  // A narrow product must be rounded before a bias is added, and relu cannot see the sign of integers computed as unsigned.
  const bool finishes = found->c_type.dtype == DType::f32 || found->c_type.dtype == DType::f64;
  return finishes || found->epilogue == Epilogue::none;
}

std::unique_ptr<HostKernel> prepare_matmul(const KernelRequest& request) {
  if (!has_matmul(request)) return nullptr;
  const MatmulRequest found = *find_matmul(request);
  const MatmulPlan plan = matmul_plan(found);
  const MatmulInputs places{found.a, found.b, found.bias};
  switch (plan.dtype) {
    case DType::f32: return std::make_unique<MatmulKernel<float>>(places, plan);
    case DType::f64: return std::make_unique<MatmulKernel<double>>(places, plan);
    case DType::f16: return std::make_unique<NarrowMatmulKernel<Half>>(places, plan);
    case DType::bf16: return std::make_unique<NarrowMatmulKernel<BFloat16>>(places, plan);
    case DType::i32:
    case DType::u32: return std::make_unique<MatmulKernel<std::uint32_t>>(places, plan);
    case DType::i64:
    case DType::u64: return std::make_unique<MatmulKernel<std::uint64_t>>(places, plan);
    case DType::i8: return small_integer_matmul<std::int8_t>(places, plan, found.c_type.dtype);
    case DType::u8: return small_integer_matmul<std::uint8_t>(places, plan, found.c_type.dtype);
    case DType::i16: return small_integer_matmul<std::int16_t>(places, plan, found.c_type.dtype);
    case DType::u16: return small_integer_matmul<std::uint16_t>(places, plan, found.c_type.dtype);
    case DType::boolean: break;
  }
  return nullptr;
}

constexpr KernelRow rows::matmul{matmul_kernel};

}  // namespace cleave::runtime::host
