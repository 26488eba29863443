// Attention as ONNX Runtime's operators state it: one projection to queries, keys and values of all heads, masks of several forms, and keys
// and values of earlier calls in one value.
#pragma once

#include <cstddef>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

struct PackedAttention {
  std::size_t mask = 0, past = 0;  ///< numbers of the operands, which may be absent
  std::int64_t heads = 0;
  bool causal = false;
  double masked = -10000;  ///< added to the scores of masked keys
  double scale = 0;        ///< 0: one over the square root of the heads' width
};

/// `projection`: [batch, length, 3 * heads * width]. The result [batch, length, heads * width], and keys and values of all calls [2, batch,
/// heads, keys, width]. A mask of i32 is [batch] with the number of visible keys; [2 * batch] with the ends and the beginnings of the
/// visible keys; or [batch, keys] or [batch, length, keys] with 0 for masked ones.
Values packed_attention(Call& c, const Part& projection, const PackedAttention& how);

}  // namespace cleave::models::onnx
