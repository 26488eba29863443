// Recognizes attention that exporters write as a dozen nodes, softmax(q k^T * scale + mask) v, from its last product, and makes it one
// operation.
#pragma once

#include <optional>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// The product of `weights` and `values` as the operation `attention`, if the weights are the softmax of scaled scores. Nothing if they are
/// anything else, or if the result for a row without a key would not be zeros.
std::optional<Part> written_out_attention(Call& c, const Part& weights, const Part& values);

}  // namespace cleave::models::onnx
