// Matmul: one matrix product, prepared once for its types and launched often, by cuBLASLt. Row-major by swapping the operands. Knows no
// arena: addresses come with each launch.
#pragma once

#include <memory>
#include <string>

#include "executor/cuda/blas_api.h"
#include "executor/cuda/driver_api.h"
#include "executor/cuda/kernel_source.h"
#include "executor/executor.h"

namespace cleave::cuda {

/// What is done to a product before it is written.
enum class Epilogue : std::uint8_t { none, relu, gelu, bias, bias_relu, bias_gelu };

/// c = epilogue(a x b), batched; strides are in elements. A stride of zero repeats a matrix.
struct MatmulPlan {
  DType dtype = DType::f32;                       ///< of a, b and c
  std::int64_t m = 0, n = 0, k = 0;               ///< c is m x n
  bool transpose_a = false, transpose_b = false;  ///< as they lie in memory: a is k x m, b is n x k
  std::int64_t batch = 1, stride_a = 0, stride_b = 0, stride_c = 0;
  Epilogue epilogue = Epilogue::none;
};

struct MatmulAddresses {
  CUdeviceptr a = 0, b = 0, c = 0;
  CUdeviceptr bias = 0;  ///< n elements; epilogues with bias only
};

/// Whether `request` is one matrix product that `matmul_plan` can state.
bool has_matmul(const KernelRequest& request);
MatmulPlan matmul_plan(const KernelRequest& request);

class Matmul {
 public:
  /// Chooses an algorithm that needs at most `workspace_bytes`. `cache_folder`: where choices are kept by device and version; empty: not.
  static Result<std::unique_ptr<Matmul>> prepare(const BlasApi& api, cublasLtHandle_t handle, const MatmulPlan& plan, Precision precision,
                                                 std::int64_t workspace_bytes, const std::string& cache_folder);
  virtual ~Matmul() = default;

  /// Puts the product into `stream`. `workspace` is as large as was said to `prepare`, and used by one product at a time.
  virtual Status launch(CUstream stream, const MatmulAddresses& addresses, CUdeviceptr workspace) const = 0;
};

}  // namespace cleave::cuda
