// Lowering of ONNX Runtime's DynamicQuantizeLSTM: an LSTM gate by gate, whose inputs and hidden states are quantized before each product.
#include "models/onnx/pieces.h"
#include "models/onnx/quantized.h"
#include "models/onnx/recurrent.h"

namespace cleave::models::onnx {
namespace {

/// The operands of one weight: the weight [directions, rows, 4 * n], its scale and its zero point, which are [directions] or [directions, 4
/// * n].
struct QuantizedWeight {
  std::size_t weight, scale, zero_point;
};
constexpr QuantizedWeight kInput = {1, 8, 9}, kHidden = {2, 10, 11};

bool fits_weight(Call& c, const QuantizedWeight& of) {
  const Shape weight = c[of.weight].shape(), scale = c[of.scale].shape();
  const DType dtype = c[of.weight].dtype();
  const bool integers = dtype == DType::i8 || dtype == DType::u8;
  const bool scaled = weight.size() == 3 && (scale == Shape{weight[0]} || scale == Shape{weight[0], weight[2]});
  if (integers && scaled && is_floating(c[of.scale].dtype()) && c[of.zero_point].dtype() == dtype && c[of.zero_point].shape() == scale)
    return true;
  if (!c[of.weight].operand().poisoned() && !c[of.scale].operand().poisoned() && !c[of.zero_point].operand().poisoned())
    c.mistake(DiagnosticKind::shape, "`DynamicQuantizeLSTM`: the weight " + titled(c, of.weight) +
                                         " must be of i8 or u8 with 3 axes, and have a scale and a zero point for each direction, or for "
                                         "each element of its last axis too, not " +
                                         titled(c, of.scale) + " and " + titled(c, of.zero_point));
  return false;
}

bool fits_network(const Recurrent& of) {
  if (of.x.rank() != 3) return false;
  const std::int64_t batch = of.x.shape()[1], n = of.n(), rows = of.gates() * n, directions = of.directions();
  const auto is = [](const std::optional<Part>& part, const Shape& shape) { return !part || part->shape() == shape; };
  return of.w.shape() == Shape{directions, of.x.shape()[2], rows} && of.r.shape() == Shape{directions, n, rows} &&
         is(of.bias, {directions, 2 * rows}) && is(of.lengths, {batch}) && is(of.hidden, {directions, batch, n}) &&
         is(of.cell, {directions, batch, n}) && is(of.peepholes, {directions, 3 * n});
}

Part quantized_product(Call& c, const Part& x, const QuantizedWeight& of, std::int64_t direction) {
  const auto own = [&](std::size_t operand) { return element(c, c[operand], 0, direction); };
  const Part weight = c.subtract(c.as(DType::i32, own(of.weight)), c.as(DType::i32, own(of.zero_point)));
  const DynamicallyQuantized steps = dynamically_quantized(c, x);
  const Part left = c.subtract(c.as(DType::i32, steps.steps), c.as(DType::i32, steps.zero_point));
  const Part sums = c.as(DType::f32, c(op::matmul, {left, weight}));
  return c.multiply(sums, c.multiply(own(of.scale), steps.scale));
}

Values dynamic_quantize_lstm(Call& c) {
  std::optional<Recurrent> network = network_of(c, RecurrentKind::lstm);
  if (!network || !fits_weight(c, kInput) || !fits_weight(c, kHidden)) return c.poison();
  network->product = [&c](const Part& x, bool of_hidden, std::int64_t direction) {
    return quantized_product(c, x, of_hidden ? kHidden : kInput, direction);
  };
  if (!fits_network(*network))
    return c.mistake(DiagnosticKind::shape,
                     "`DynamicQuantizeLSTM`: the operands do not fit " + titled(c, 0) + " and recurrent weights of " + titled(c, 2));
  const Parts results = unrolled_by_gates(c, *network);
  return {results.begin(), results.end()};
}

}  // namespace

std::span<const Lowering> quantized_recurrent_lowerings() {
  static constexpr Lowering kRows[] = {
      {"com.microsoft.DynamicQuantizeLSTM", 1, dynamic_quantize_lstm},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
