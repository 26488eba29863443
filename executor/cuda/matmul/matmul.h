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
#include "executor/options.h"

namespace cleave::runtime::cuda {

/// What is done to a product before it is written. gelu is the form with tanh, which is not what cleave's op `gelu` means.
enum class Epilogue : std::uint8_t { none, relu, gelu, bias, bias_relu, bias_gelu };
[[nodiscard]] bool has_bias(Epilogue epilogue);

/// c = epilogue(a x b), batched; strides are in elements. A stride of zero repeats a matrix.
struct MatmulPlan {
  DType dtype = DType::f32;                       ///< of a, b, c and the bias
  std::int64_t m = 0, n = 0, k = 0;               ///< c is m x n
  bool transpose_a = false, transpose_b = false;  ///< as they lie in memory: a is k x m, b is n x k
  std::int64_t batch = 1, stride_a = 0, stride_b = 0, stride_c = 0;
  Epilogue epilogue = Epilogue::none;
  /// Batch axes that one stride an operand cannot state: a launch for each index.
  struct Repeat {
    std::int64_t count = 1, stride_a = 0, stride_b = 0, stride_c = 0;
    friend bool operator==(const Repeat&, const Repeat&) = default;
  };
  std::vector<Repeat> repeats;
  friend bool operator==(const MatmulPlan&, const MatmulPlan&) = default;
};
/// One line: "f32 4x3x2 a b' batch 3 (12, 0, 8) bias".
[[nodiscard]] std::string to_string(const MatmulPlan& plan);

struct MatmulAddresses {
  CUdeviceptr a = 0, b = 0, c = 0;
  CUdeviceptr bias = 0;  ///< n elements; epilogues with bias only
};

/// A matrix product in a request: alone, or with what is done to its operands and its result in the same go: an operand's transpose, which
/// is read as it lies; a bias for each column; relu.
struct MatmulRequest {
  std::size_t a = 0, b = 1;                       ///< which of the request's inputs
  std::size_t bias = 0;                           ///< epilogues with bias only
  TensorType a_type, b_type, c_type;              ///< as they are meant
  bool transpose_a = false, transpose_b = false;  ///< the last two axes lie changed about
  Epilogue epilogue = Epilogue::none;
};
/// Nothing: the request is something else.
std::optional<MatmulRequest> find_matmul(const KernelRequest& request);

/// Whether cuBLASLt has the product: of floating types, with something to add up; an epilogue on all of them but f64.
bool has_matmul(const KernelRequest& request);
MatmulPlan matmul_plan(const MatmulRequest& product);

/// What all products of one device have in common.
struct MatmulSetting {
  const BlasApi* api = nullptr;
  cublasLtHandle_t handle = nullptr;
  Precision precision = Precision::f32;
  std::int64_t workspace_bytes = 0;  ///< at most
  FileCache kept;                    ///< choices of algorithms
  std::string machine;               ///< all that a choice holds good for: the device's name, the driver's version
};

/// Where algorithms may be tried before any run. Without `measure` the library's own first choice is taken.
struct MatmulTrial {
  MatmulAddresses addresses;  ///< c may be written
  CUdeviceptr workspace = 0;
  /// Seconds that one product takes, put into a stream by the function it is given.
  std::function<Result<double>(const std::function<Status(CUstream)>&)> measure;
};

class Matmul {
 public:
  static Result<std::unique_ptr<Matmul>> prepare(const MatmulSetting& setting, const MatmulPlan& plan, const MatmulTrial& trial = {});
  virtual ~Matmul() = default;

  /// Of the algorithm that was chosen.
  [[nodiscard]] virtual std::size_t workspace_bytes() const = 0;
  /// Puts the product into `stream`. `workspace` is as large as was said to `prepare`, and used by one product at a time.
  virtual Status launch(CUstream stream, const MatmulAddresses& addresses, CUdeviceptr workspace) = 0;
};

}  // namespace cleave::runtime::cuda
