// lstm_cell and gru_cell: the element-wise part of a recurrent step, from gates to the next state. The gates are concatenated along the
// last axis.
#include <array>
#include <cmath>

#include "graph/base/stop.h"
#include "graph/ops/calls.h"
#include "graph/ops/cells.h"
#include "graph/ops/domain.h"
#include "graph/ops/gradient_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/ops/sums.h"

namespace cleave::ops {
namespace {

constexpr Domain kCellDomain = Domain::floating;

/// Operands: inputs and recurrent part [.., gates * n], state [.., n].
template <Name op, int gates, int results>
TypeResult cell_type(Types inputs, const Attributes&) {
  const TensorType& state = inputs[2];
  if (!accepts(kCellDomain, state.dtype))
    return refuse(DiagnosticKind::type, op.view(), inputs, "needs floating-point elements; convert with astype");
  for (const TensorType& each : inputs)
    if (each.dtype != state.dtype) return refuse(DiagnosticKind::type, op.view(), inputs, "the element types differ");
  if (state.scalar()) return refuse(DiagnosticKind::shape, op.view(), inputs, "a state has at least one axis");
  Shape wide = state.shape;
  if (!checked_bytes({DType::u8, {wide.back(), gates}})) return refuse(DiagnosticKind::shape, op.view(), inputs, "the state is too wide");
  wide.back() *= gates;
  for (const TensorType& each : {inputs[0], inputs[1]}) {
    if (each.shape != wide)
      return refuse(DiagnosticKind::shape, op.view(), inputs,
                    "to a state " + to_string(state.shape) + " belong " + std::to_string(gates) + " gates, " + to_string(wide));
  }
  return give(op.view(), inputs, std::vector<TensorType>(results, state));
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

/// Calls `step(inputs, recurrent, state)` for each element, with the gates of the inputs, those of the recurrent part, and the old state.
/// It returns one number for each result.
template <int gates, class Step>
Status each_element(const OpCall& call, const Step& step) {
  const TensorType& state = call.inputs[2].type();
  if (state.elements() == 0) return {};
  const std::int64_t n = state.shape.back();
  dispatch_in<kCellDomain>(state.dtype, [&](auto zero) {
    using T = decltype(zero);
    StopLooks looks;
    for (std::int64_t i = 0; i < state.elements(); ++i) {
      looks.worked(8 * gates);
      std::array<double, gates> inputs, recurrent;
      for (std::int64_t gate = 0; gate < gates; ++gate) {
        const std::int64_t at = (i / n * gates + gate) * n + i % n;
        inputs[static_cast<std::size_t>(gate)] = widen(call.inputs[0].data<T>()[at]);
        recurrent[static_cast<std::size_t>(gate)] = widen(call.inputs[1].data<T>()[at]);
      }
      const auto next = step(inputs, recurrent, widen(call.inputs[2].data<T>()[i]));
      for (std::size_t k = 0; k < next.size(); ++k) call.results[k].mutable_data<T>()[i] = store<T>(next[k]);
    }
  });
  return {};
}

Status lstm_reference(const OpCall& call) {
  return each_element<4>(call, [](const auto& x, const auto& r, double cell) {
    const double in = sigmoid(x[0] + r[0]), out = sigmoid(x[1] + r[1]), forget = sigmoid(x[2] + r[2]), fresh = std::tanh(x[3] + r[3]);
    const double next = forget * cell + in * fresh;
    return std::array{out * std::tanh(next), next};
  });
}

Status gru_reference(const OpCall& call) {
  return each_element<3>(call, [](const auto& x, const auto& r, double hidden) {
    const double update = sigmoid(x[0] + r[0]), reset = sigmoid(x[1] + r[1]), fresh = std::tanh(x[2] + reset * r[2]);
    return std::array{fresh + update * (hidden - fresh)};
  });
}

template <int gates>
Cost cell_cost(Types inputs, Types results, const Attributes&) {
  return {12.0 * gates * static_cast<double>(inputs[2].elements()), traffic(inputs, results)};
}

}  // namespace

constexpr OpDef op::lstm_cell =
    Record("lstm_cell(inputs, recurrent, cell)", 3, {},
           "the next hidden state and cell of an LSTM, from gates `inputs + recurrent` in the order input, output, forget, cell",
           cell_type<Name{"lstm_cell"}, 4, 2>, cell_cost<4>, lstm_reference)
        .promoting(Promotion::floating)
        .of_class(CostClass::transcendental)
        .differentiated(gradients::lstm_cell);

constexpr OpDef op::gru_cell =
    Record("gru_cell(inputs, recurrent, hidden)", 3, {},
           "the next hidden state of a GRU, from gates in the order update, reset, hidden; the reset gate meets `recurrent`",
           cell_type<Name{"gru_cell"}, 3, 1>, cell_cost<3>, gru_reference)
        .promoting(Promotion::floating)
        .of_class(CostClass::transcendental)
        .differentiated(gradients::gru_cell);

}  // namespace cleave::ops

namespace cleave {

LstmCell lstm_cell(const Tensor& inputs, const Tensor& recurrent, const Tensor& cell, Here here) {
  const Tensor operands[] = {inputs, recurrent, cell};
  return ops::call_two<LstmCell>(op::lstm_cell, operands, {}, here);
}

Tensor gru_cell(const Tensor& inputs, const Tensor& recurrent, const Tensor& hidden, Here here) {
  return ops::call(op::gru_cell, {inputs, recurrent, hidden}, {}, here);
}

}  // namespace cleave
