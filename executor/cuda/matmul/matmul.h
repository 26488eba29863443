// Matmul: one matrix product by cuBLASLt, prepared once for its types and launched often. Row-major by swapping the operands: a row-major
// matrix, read column-major, is its transpose, and (a b)' = b' a'. Knows no arena: addresses are passed with each launch.
//
// Results are bitwise identical from run to run: a split sum is reduced in the accumulator's type in a fixed order, never in place, and the
// algorithm of a plan is chosen once (matmul_choice.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "executor/cuda/driver_api.h"
#include "executor/cuda/file_cache.h"
#include "executor/cuda/kernel_source.h"
#include "executor/cuda/matmul/blas_handles.h"
#include "executor/device/matmul_plan.h"
#include "executor/options.h"

namespace cleave::runtime::cuda {

/// The type in which the operands of a product with the result type `result` are stored. It is narrower than `result` if the precision
/// asks for rounded operands: they are then rounded once beforehand, and not in each of the library's tiles.
DType operand_type(DType result, Precision precision);

struct MatmulAddresses {
  CUdeviceptr a = 0, b = 0, c = 0;
  CUdeviceptr bias = 0;  ///< n elements; only for epilogues with bias
};

/// True if cuBLASLt can compute the product: floating types and a non-empty sum; with an epilogue all floating types but f64.
bool has_matmul(const KernelRequest& request);

/// The settings that all products of one device share.
struct MatmulSetting {
  const BlasApi* api = nullptr;
  cublasLtHandle_t handle = nullptr;
  Precision precision = Precision::f32;
  std::int64_t workspace_bytes = 0;  ///< upper limit
  FileCache kept;                    ///< the cached choices of algorithms
  std::string machine;               ///< the device's name and the driver's version, for which a choice is valid
};

/// Memory and functions for trying algorithms before any run. Without `measure`, the library's first proposal that runs is taken.
struct MatmulTrial {
  MatmulAddresses addresses;  ///< c may be written
  CUdeviceptr workspace = 0;
  /// Enqueues one product, by the function that it is given, and waits for it. The library may load code at the first call of an
  /// algorithm, which must not happen inside a capture. Null: nothing is called beforehand.
  std::function<Status(const std::function<Status(CUstream)>&)> call;
  /// The seconds that one product takes, which the given function enqueues.
  std::function<Result<double>(const std::function<Status(CUstream)>&)> measure;
};

class Matmul {
 public:
  /// Null if the library has no algorithm that runs.
  static Result<std::unique_ptr<Matmul>> prepare(const MatmulSetting& setting, const MatmulPlan& plan, const MatmulTrial& trial = {});
  virtual ~Matmul() = default;

  /// The workspace size of the chosen algorithm.
  [[nodiscard]] virtual std::size_t workspace_bytes() const = 0;
  /// Enqueues the product into `stream`. `workspace` has the size that `prepare` was given, and one product at a time uses it.
  virtual Status launch(CUstream stream, const MatmulAddresses& addresses, CUdeviceptr workspace) = 0;
};

}  // namespace cleave::runtime::cuda
