// AttentionShape: shapes and strides of the operands of `attention`, derived from their types, for the op's rules, its reference
// implementation and its kernels. Knows no device.
#pragma once

#include <vector>

#include "graph/ops/rules.h"
#include "graph/ops/strided.h"

namespace cleave::ops {

/// Batches of heads: `heads` of queries [queries, depth], `key_heads` of keys [keys, depth] and of values [keys, width]. Head h of the
/// queries uses head h / group() of the keys. Strides are in elements, over `batch`.
struct AttentionShape {
  Shape batch;
  Strides query_batch, key_batch, value_batch;
  std::int64_t heads = 1, key_heads = 1, queries = 0, keys = 0, depth = 0, width = 0;
  Strides mask;  ///< over `batch`, heads, queries and keys; none: there is no mask
  bool causal = false;
  double scale = 1;

  [[nodiscard]] std::int64_t group() const { return key_heads == 0 ? 1 : heads / key_heads; }
  [[nodiscard]] std::int64_t batches() const;
  /// Keys that query `i` sees by the causal rule, the first ones: the last query sees all keys, each one before it one less.
  [[nodiscard]] std::int64_t seen(std::int64_t i) const {
    return causal ? std::clamp<std::int64_t>(i + 1 + keys - queries, 0, keys) : keys;
  }
};

/// Requires operands that the type rule has accepted.
AttentionShape attention_shape(Types inputs, const Attributes& attributes);

/// The types of the operands of the call of `attention` whose gradient a call of `attention_gradient` with these is.
std::vector<TensorType> attention_of_gradient(Types inputs);

/// Offset of batch number `index` (row-major) in an operand.
std::int64_t batch_offset(const Shape& batch, const Strides& strides, std::int64_t index);

}  // namespace cleave::ops
