#include "executor/cuda/matmul/matmul.h"

#include <limits>

#include "executor/cuda/matmul/matmul_choice.h"

namespace cleave::runtime::cuda {
namespace {

struct Types {
  cudaDataType operand = CUDA_R_32F, result = CUDA_R_32F, scale = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};

cudaDataType name_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return CUDA_R_64F;
    case DType::f16: return CUDA_R_16F;
    case DType::bf16: return CUDA_R_16BF;
    default: break;
  }
  CLEAVE_CHECK(dtype == DType::f32, "a product that cuBLASLt does not have");
  return CUDA_R_32F;
}

Types types_of(DType dtype, Precision precision) {
  Types types{name_of(operand_type(dtype, precision)), name_of(dtype), CUDA_R_32F, CUBLAS_COMPUTE_32F};
  if (dtype == DType::f64) {
    types.scale = CUDA_R_64F;
    types.compute = CUBLAS_COMPUTE_64F;
  }
  if (dtype == DType::f32 && precision == Precision::tf32) types.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  return types;
}

std::uint32_t epilogue_of(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::relu: return CUBLASLT_EPILOGUE_RELU;
    case Epilogue::gelu: return CUBLASLT_EPILOGUE_GELU;
    case Epilogue::bias: return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::bias_relu: return CUBLASLT_EPILOGUE_RELU_BIAS;
    case Epilogue::bias_gelu: return CUBLASLT_EPILOGUE_GELU_BIAS;
    case Epilogue::none: break;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

template <class Value>
Status set(const BlasApi& api, const BlasProduct& product, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  return check(api, "cublasLtMatmulDescSetAttribute", api.cublasLtMatmulDescSetAttribute(product.get(), attribute, &value, sizeof value));
}

template <class Value>
Status set(const BlasApi& api, const BlasMatrix& matrix, cublasLtMatrixLayoutAttribute_t attribute, const Value& value) {
  return check(api, "cublasLtMatrixLayoutSetAttribute",
               api.cublasLtMatrixLayoutSetAttribute(matrix.get(), attribute, &value, sizeof value));
}

/// Describes a row-major matrix of `rows` x `columns`, which for the column-major library has `columns` rows.
Status make_matrix(const BlasApi& api, BlasMatrix& matrix, cudaDataType type, std::int64_t rows, std::int64_t columns, std::int64_t batch,
                   std::int64_t stride) {
  Status status = make(api, matrix, "cublasLtMatrixLayoutCreate", [&](cublasLtMatrixLayout_t* layout) {
    return api.cublasLtMatrixLayoutCreate(layout, type, static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(rows), columns);
  });
  if (!status || batch == 1) return status;
  status = set(api, matrix, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
  return status ? set(api, matrix, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride) : status;
}

Status make_product(const BlasApi& api, BlasProduct& product, const MatmulPlan& plan, const Types& types) {
  Status status = make(api, product, "cublasLtMatmulDescCreate", [&](cublasLtMatmulDesc_t* description) {
    return api.cublasLtMatmulDescCreate(description, types.compute, types.scale);
  });
  const std::int32_t transposed = CUBLAS_OP_T;
  if (status && plan.transpose_b) status = set(api, product, CUBLASLT_MATMUL_DESC_TRANSA, transposed);
  if (status && plan.transpose_a) status = set(api, product, CUBLASLT_MATMUL_DESC_TRANSB, transposed);
  if (status && plan.epilogue != Epilogue::none) status = set(api, product, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(plan.epilogue));
  return status;
}

class PreparedMatmul final : public Matmul {
 public:
  PreparedMatmul(const MatmulSetting& setting, MatmulPlan plan, MatmulDescription description)
      : api_(*setting.api),
        handle_(setting.handle),
        plan_(std::move(plan)),
        operand_bytes_(static_cast<std::uint64_t>(size_of(operand_type(plan_.dtype, setting.precision)))),
        result_bytes_(static_cast<std::uint64_t>(size_of(plan_.dtype))),
        description_(std::move(description)) {}

  /// Chooses the algorithm; false if there is none.
  Result<bool> choose_by(const MatmulSetting& setting, const MatmulTrial& trial) {
    if (Status status = set_bias(trial.addresses.bias); !status) return status.error();  // the library checks the address's alignment
    const auto product = [&](CUstream stream) { return launch(stream, trial.addresses, trial.workspace); };
    MatmulTests tests;
    if (trial.measure) {
      tests.measure = [&](const MatmulChoice& candidate) {
        choice_ = candidate;
        return trial.measure(product);
      };
    }
    if (trial.call) {
      tests.runs = [&](const MatmulChoice& candidate) {
        choice_ = candidate;
        return trial.call(product).ok();
      };
    }
    Result<std::optional<MatmulChoice>> choice = choose(setting, plan_, description_, tests);
    if (!choice) return choice.error();
    if (*choice) choice_ = **choice;
    return choice->has_value();
  }

  [[nodiscard]] std::size_t workspace_bytes() const override { return choice_.workspace_bytes; }

  Status launch(CUstream stream, const MatmulAddresses& addresses, CUdeviceptr workspace) override {
    Status status = set_bias(addresses.bias);
    return status ? launch_repeats(stream, addresses, workspace) : status;
  }

 private:
  Status set_bias(CUdeviceptr bias) {
    if (!has_bias(plan_.epilogue) || bias_ == bias) return {};
    Status status = set(api_, description_.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    if (status) bias_ = bias;
    return status;
  }

  /// Launches the product for every index of the repeated axes, the last axis fastest.
  Status launch_repeats(CUstream stream, const MatmulAddresses& addresses, CUdeviceptr workspace) {
    std::int64_t launches = 1;
    for (const MatmulPlan::Repeat& axis : plan_.repeats) launches *= axis.count;
    for (std::int64_t i = 0; i < launches; ++i) {
      MatmulAddresses here = addresses;
      std::int64_t rest = i;
      for (auto axis = plan_.repeats.rbegin(); axis != plan_.repeats.rend(); ++axis) {
        const auto index = static_cast<std::uint64_t>(rest % axis->count);
        rest /= axis->count;
        here.a += index * operand_bytes_ * static_cast<std::uint64_t>(axis->stride_a);
        here.b += index * operand_bytes_ * static_cast<std::uint64_t>(axis->stride_b);
        here.c += index * result_bytes_ * static_cast<std::uint64_t>(axis->stride_c);
      }
      if (Status status = launch_one(stream, here, workspace); !status) return status;
    }
    return {};
  }

  Status launch_one(CUstream stream, const MatmulAddresses& at, CUdeviceptr workspace) {
    const double one = 1, zero = 0;
    const float narrow_one = 1, narrow_zero = 0;
    const bool wide = plan_.dtype == DType::f64;
    const auto memory = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
    return check(
        api_, "cublasLtMatmul",
        api_.cublasLtMatmul(handle_, description_.product.get(), wide ? static_cast<const void*>(&one) : &narrow_one, memory(at.b),
                            description_.a.get(), memory(at.a), description_.b.get(), wide ? static_cast<const void*>(&zero) : &narrow_zero,
                            memory(at.c), description_.c.get(), memory(at.c), description_.c.get(), &choice_.algorithm,
                            choice_.workspace_bytes > 0 ? memory(workspace) : nullptr, choice_.workspace_bytes,
                            reinterpret_cast<cudaStream_t>(stream)));
  }

  const BlasApi& api_;
  const cublasLtHandle_t handle_;
  const MatmulPlan plan_;
  const std::uint64_t operand_bytes_, result_bytes_;  ///< bytes of one element
  const MatmulDescription description_;
  MatmulChoice choice_;
  CUdeviceptr bias_ = 0;  ///< the bias address in the description
};

}  // namespace

DType operand_type(DType result, Precision precision) {
  return result == DType::f32 && precision == Precision::bf16 ? DType::bf16 : result;
}

bool has_matmul(const KernelRequest& request) {
  const std::optional<MatmulRequest> found = find_matmul(request);
  if (!found || !is_floating(found->c_type.dtype)) return false;
  if (found->epilogue != Epilogue::none && found->c_type.dtype == DType::f64) return false;
  constexpr std::int64_t kMostProducts = std::numeric_limits<std::int32_t>::max();  // cuBLASLt counts the batch in 32 bits
  return found->c_type.elements() > 0 && found->a_type.shape.back() > 0 && matmul_plan(*found).batch <= kMostProducts;
}

Result<MatmulDescription> MatmulDescription::make(const BlasApi& api, const MatmulPlan& plan, Precision precision) {
  const Types types = types_of(plan.dtype, precision);
  MatmulDescription d;
  Status status = make_product(api, d.product, plan, types);
  const auto rows = [](bool transposed, std::int64_t straight, std::int64_t other) { return transposed ? other : straight; };
  const std::int64_t b_rows = rows(plan.transpose_b, plan.k, plan.n), b_columns = rows(plan.transpose_b, plan.n, plan.k);
  const std::int64_t a_rows = rows(plan.transpose_a, plan.m, plan.k), a_columns = rows(plan.transpose_a, plan.k, plan.m);
  if (status) status = make_matrix(api, d.a, types.operand, b_rows, b_columns, plan.batch, plan.stride_b);
  if (status) status = make_matrix(api, d.b, types.operand, a_rows, a_columns, plan.batch, plan.stride_a);
  if (status) status = make_matrix(api, d.c, types.result, plan.m, plan.n, plan.batch, plan.stride_c);
  if (!status) return status.error();
  return d;
}

Result<std::unique_ptr<Matmul>> Matmul::prepare(const MatmulSetting& setting, const MatmulPlan& plan, const MatmulTrial& trial) {
  Result<MatmulDescription> description = MatmulDescription::make(*setting.api, plan, setting.precision);
  if (!description) return description.error();
  auto matmul = std::make_unique<PreparedMatmul>(setting, plan, *std::move(description));
  const Result<bool> chosen = matmul->choose_by(setting, trial);
  if (!chosen) return chosen.error();
  return *chosen ? std::unique_ptr<Matmul>(std::move(matmul)) : nullptr;
}

}  // namespace cleave::runtime::cuda
