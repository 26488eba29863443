// Attention as exporters write it out: softmax(q k^T * scale + mask) v in a dozen nodes. Told from the products at its end, it becomes the
// one operation that it is.
#pragma once

#include <optional>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// What a product of `weights` and `values` gives if the weights are the softmax of scaled scores: `attention`. Nothing where they are
/// anything else, or where a row without a key would give something else than zeros.
std::optional<Part> written_out_attention(Call& c, const Part& weights, const Part& values);

}  // namespace cleave::models::onnx
