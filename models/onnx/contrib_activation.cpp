// Lowerings of ONNX Runtime's activation functions and additions of a bias, which its optimizer and exporters of transformers write.
#include "models/onnx/activation.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

Values exact_gelu(Call& c) {
  return {c(op::gelu, {c[0]})};
}

Part biased(Call& c) {
  return c.has(1) ? c.add(c[0], c[1]) : c[0];
}

Values bias_gelu(Call& c) {
  return {c(op::gelu, {c.add(c[0], c[1])})};
}

Values fast_gelu(Call& c) {
  return {tanh_gelu(c, biased(c))};
}

Values quick_gelu(Call& c) {
  return {swish(c, c[0], c.number("alpha", 1.702F))};
}

/// The left half of the last axis times GELU of the right half.
Values bias_split_gelu(Call& c) {
  const Part x = c.add(c[0], c[1]);
  const std::int64_t size = x.rank() == 0 ? 1 : x.shape().back();
  if (size % 2 != 0) return c.mistake(DiagnosticKind::shape, "`BiasSplitGelu` cannot halve the last axis of " + to_string(c[0].type()));
  const Part left = piece(c, x, x.rank() - 1, 0, size / 2), right = piece(c, x, x.rank() - 1, size / 2, size);
  return {c.multiply(left, c(op::gelu, {right}))};
}

Values bias_add(Call& c) {
  return {c.add(c.add(c[0], c[1]), c[2])};
}

}  // namespace

std::span<const Lowering> contrib_activation_lowerings() {
  static constexpr Lowering kRows[] = {
      {"com.microsoft.BiasAdd", 1, bias_add},
      {"com.microsoft.BiasGelu", 1, bias_gelu},
      {"com.microsoft.BiasSplitGelu", 1, bias_split_gelu},
      {"com.microsoft.FastGelu", 1, fast_gelu},
      {"com.microsoft.Gelu", 1, exact_gelu},
      {"com.microsoft.QuickGelu", 1, quick_gelu},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
