// Lowerings of matrix products; and those that ONNX Runtime's fused ones extend.
#pragma once

#include <optional>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// `x` times an attribute; the element type stays the same.
Part scaled(Call& c, const Part& x, double factor);
/// The product of a node with the operands and attributes of Gemm; nothing after a mistake.
std::optional<Part> gemm_product(Call& c);

}  // namespace cleave::models::onnx
