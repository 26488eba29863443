// MatmulPlan: what a matrix product computes, from its types alone, and how a product is found in a request: with what is done to its
// operands and its result in the same go. Knows no library and no device: executor/host/matmul and executor/cuda/matmul do what it says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/runtime.h"
#include "partitioner/machine/kernel_request.h"

namespace cleave::runtime {

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
  /// Batch axes that one stride an operand cannot state.
  struct Repeat {
    std::int64_t count = 1, stride_a = 0, stride_b = 0, stride_c = 0;
    friend bool operator==(const Repeat&, const Repeat&) = default;
  };
  std::vector<Repeat> repeats;
  friend bool operator==(const MatmulPlan&, const MatmulPlan&) = default;
};
/// One line: "f32 4x3x2 a b' batch 3 (12, 0, 8) bias".
[[nodiscard]] std::string to_string(const MatmulPlan& plan);

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

MatmulPlan matmul_plan(const MatmulRequest& product);

}  // namespace cleave::runtime
