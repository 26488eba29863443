// The attention of transformers, for users.
#pragma once

#include <optional>

#include "graph/trace/tensor.h"

namespace cleave {

struct AttentionOptions {
  std::optional<Tensor> mask = {};   ///< broadcasts to [.., heads, n, m]; bool (true: this key takes part), or numbers added to the scores
  bool causal = false;               ///< query i of n sees the keys 0 to i + m - n of m: the last query sees all
  std::optional<double> scale = {};  ///< factor of the scores, before the mask; default: 1 / sqrt(d)
};

/// Scaled dot product attention: [.., heads, n, d], [.., heads, m, d], [.., heads, m, e] -> [.., heads, n, e], which is
/// `matmul(softmax(matmul(query, transpose(key)) * scale + mask), value)`, but the n x m scores are never stored. [n, d] without leading
/// axes is accepted, too. Axes before the heads broadcast. Keys and values may have fewer heads: each is shared by as many neighbouring
/// heads of the query. A query that sees no key gives zeros. Values that no query sees must be finite. Error `shape`: extents that do not
/// match; `type`: no or different floating-point elements.
///   Tensor y = attention(q, k, v, {.causal = true});
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& options = {},
                 Here here = Here::now());

struct AttentionGradient {
  Tensor query, key, value;
};
/// The gradients of `attention` by its operands, from that of its result. They have all axes of the batch: where an operand broadcasts, its
/// gradient is their sum over these axes. The scores are computed again. Errors as `attention`; `shape`: a gradient of another shape than
/// the result.
///   auto [by_q, by_k, by_v] = attention_gradient(q, k, v, g, {.causal = true});
AttentionGradient attention_gradient(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& gradient,
                                     const AttentionOptions& options = {}, Here here = Here::now());

}  // namespace cleave
