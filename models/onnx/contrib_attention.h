// Lowerings of ONNX Runtime's Attention and MultiHeadAttention; and the part that QAttention shares with Attention.
#pragma once

#include <cstdint>
#include <vector>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// The numbers of operands that may be absent. An operator without one of them has a number behind its last operand there.
struct ProjectedOperands {
  std::size_t mask, past, bias;
};

/// Attention of `product`, [batch, length, queries, keys and values of all heads], which are as wide as `sizes` says, each a multiple of
/// `num_heads`. The result, and if the node has it keys and values of all calls.
Values projected_attention(Call& c, const Part& product, const std::vector<std::int64_t>& sizes, const ProjectedOperands& operands);

}  // namespace cleave::models::onnx
