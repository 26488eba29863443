// Lowering of ONNX Runtime's QAttention: a quantized projection, then attention in floating point.
#include "models/onnx/contrib_attention.h"
#include "models/onnx/quantized.h"

namespace cleave::models::onnx {
namespace {

Values qattention(Call& c) {
  for (const char* attribute : {"do_rotary", "past_present_share_buffer"})
    if (c.flag(attribute)) return c.unsupported("with `" + std::string(attribute) + "`");
  const std::int64_t columns = c[1].rank() == 2 ? c[1].shape()[1] : 0, heads = c.integer("num_heads", 0);
  if (c[0].rank() != 3 || c[1].rank() != 2 || c[1].shape()[0] != c[0].shape()[2] || c[2].shape() != Shape{columns})
    return c.mistake(DiagnosticKind::shape,
                     "`QAttention`: the weight " + titled(c, 1) + " and the bias " + titled(c, 2) + " do not fit " + titled(c, 0));
  if (heads < 1 || columns % (3 * heads) != 0)
    return c.mistake(DiagnosticKind::value, "`QAttention`: `num_heads` is " + std::to_string(heads) +
                                                ", which does not divide queries, keys and values of " + titled(c, 1));
  if (!are_small_integers(c, {0, 1}) || !is_scale(c, 3) || !is_zero_point(c, 6, 0) || !are_columns_scaled(c, 1, 4, 7)) return c.poison();
  const Part sums = c.as(DType::f32, integer_product(c, 0, 6, 1, 7));
  const Part scale = c.multiply(whole_or_vector(c, c[3]), along(c, c[4], -1));
  constexpr std::size_t kNoBias = 9;
  return projected_attention(c, c.add(c.multiply(sums, scale), c[2]), {columns / 3, columns / 3, columns / 3},
                             {.mask = 5, .past = 8, .bias = kNoBias});
}

}  // namespace

std::span<const Lowering> quantized_attention_lowerings() {
  static constexpr Lowering kRows[] = {
      {"com.microsoft.QAttention", 1, qattention},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
