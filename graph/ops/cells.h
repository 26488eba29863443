// Cells of recurrent networks: the element-wise part of a step, after its matrix products.
#pragma once

#include "graph/trace/tensor.h"

namespace cleave {

struct LstmCell {
  Tensor hidden, cell;
};
/// One step of an LSTM: inputs and recurrent [.., 4 * n], cell [.., n] -> the next states. The gates are concatenated in the order of ONNX:
/// input, output, forget, cell. Error `shape`: the extent of the gates does not fit the state.
///   auto [h, c] = lstm_cell(take(gates, i, {.axis = 0}), matmul(h, r), c);
LstmCell lstm_cell(const Tensor& inputs, const Tensor& recurrent, const Tensor& cell, Here here = Here::now());
/// One step of a GRU: inputs and recurrent [.., 3 * n], hidden [.., n] -> the next hidden state. Gates in the order update, reset, hidden;
/// the reset gate multiplies `recurrent`, as in PyTorch (ONNX: linear_before_reset).
Tensor gru_cell(const Tensor& inputs, const Tensor& recurrent, const Tensor& hidden, Here here = Here::now());

}  // namespace cleave
