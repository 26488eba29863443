// MatmulPlan: what a matrix product computes, derived from its types alone, and how a product is found in a kernel request, together with
// the operations on its operands and its result that are fused with it. Knows no library and no device: executor/host/matmul and
// executor/cuda/matmul execute the plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/runtime.h"
#include "graph/kernel/kernel_request.h"

namespace cleave::runtime {

/// The operation applied to a product before it is written. gelu is the tanh form, which differs from cleave's op `gelu`.
enum class Epilogue : std::uint8_t { none, relu, gelu, bias, bias_relu, bias_gelu };
[[nodiscard]] bool has_bias(Epilogue epilogue);

/// c = epilogue(a x b), batched; strides are in elements. A stride of zero repeats a matrix.
struct MatmulPlan {
  DType dtype = DType::f32;                       ///< of a, b, c and the bias
  std::int64_t m = 0, n = 0, k = 0;               ///< c is m x n
  bool transpose_a = false, transpose_b = false;  ///< layout in memory: a is k x m, b is n x k
  std::int64_t batch = 1, stride_a = 0, stride_b = 0, stride_c = 0;
  Epilogue epilogue = Epilogue::none;
  /// Batch axes that one stride per operand cannot express.
  struct Repeat {
    std::int64_t count = 1, stride_a = 0, stride_b = 0, stride_c = 0;
    friend bool operator==(const Repeat&, const Repeat&) = default;
  };
  std::vector<Repeat> repeats;
  friend bool operator==(const MatmulPlan&, const MatmulPlan&) = default;
};
/// One line: "f32 4x3x2 a b' batch 3 (12, 0, 8) bias".
[[nodiscard]] std::string to_string(const MatmulPlan& plan);

/// A matrix product in a request, with the operations fused with it: a transpose of an operand, which is read in its layout; a bias for
/// each column; relu.
struct MatmulRequest {
  std::size_t a = 0, b = 1;                       ///< indices into the request's inputs
  std::size_t bias = 0;                           ///< epilogues with bias only
  TensorType a_type, b_type, c_type;              ///< the types after transposition
  bool transpose_a = false, transpose_b = false;  ///< the last two axes are swapped in memory
  Epilogue epilogue = Epilogue::none;
};
/// Nullopt: the request is no matrix product.
std::optional<MatmulRequest> find_matmul(const KernelRequest& request);

MatmulPlan matmul_plan(const MatmulRequest& product);

}  // namespace cleave::runtime
