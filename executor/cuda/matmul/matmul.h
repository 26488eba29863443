// Matmul: one matrix product, prepared once for its types and launched often, by cuBLASLt. Row-major by swapping the operands: what lies
// row by row is, read column by column, its own transpose, and (a b)' = b' a'. Knows no arena: addresses come with each launch.
//
// Bit-equal from run to run: a sum that is split is put together in the accumulator's type in a fixed order, never where it lies, and the
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

/// The type that the operands of a product of `result` lie in: a narrower one where the precision has them rounded to it beforehand, once,
/// instead of in each of the library's tiles.
DType operand_type(DType result, Precision precision);

struct MatmulAddresses {
  CUdeviceptr a = 0, b = 0, c = 0;
  CUdeviceptr bias = 0;  ///< n elements; epilogues with bias only
};

/// Whether cuBLASLt has the product: of floating types, with something to add up; an epilogue on all of them but f64.
bool has_matmul(const KernelRequest& request);

/// What all products of one device have in common.
struct MatmulSetting {
  const BlasApi* api = nullptr;
  cublasLtHandle_t handle = nullptr;
  Precision precision = Precision::f32;
  std::int64_t workspace_bytes = 0;  ///< at most
  FileCache kept;                    ///< choices of algorithms
  std::string machine;               ///< all that a choice holds good for: the device's name, the driver's version
};

/// Where algorithms may be tried before any run. Without `measure` the library's own first choice that can be called is taken.
struct MatmulTrial {
  MatmulAddresses addresses;  ///< c may be written
  CUdeviceptr workspace = 0;
  /// Puts one product into a stream, by the function that it is given, and waits for it: a library may load its code at the first call of
  /// an algorithm, which no capture is told of. Null: nothing is called beforehand.
  std::function<Status(const std::function<Status(CUstream)>&)> call;
  /// Seconds that one product takes, put into a stream by the function it is given.
  std::function<Result<double>(const std::function<Status(CUstream)>&)> measure;
};

class Matmul {
 public:
  /// Null: the library has no algorithm that runs.
  static Result<std::unique_ptr<Matmul>> prepare(const MatmulSetting& setting, const MatmulPlan& plan, const MatmulTrial& trial = {});
  virtual ~Matmul() = default;

  /// Of the algorithm that was chosen.
  [[nodiscard]] virtual std::size_t workspace_bytes() const = 0;
  /// Puts the product into `stream`. `workspace` is as large as was said to `prepare`, and used by one product at a time.
  virtual Status launch(CUstream stream, const MatmulAddresses& addresses, CUdeviceptr workspace) = 0;
};

}  // namespace cleave::runtime::cuda
