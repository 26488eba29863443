// Recurrent networks as defined by ONNX: composite functions, each traced into products and a loop over the sequence, whose operations are
// placed like any others.
#pragma once

#include <optional>

#include "graph/trace/tensor.h"

namespace cleave {

enum class Direction : std::uint8_t { forward, reverse, bidirectional };

struct RecurrentOptions {
  std::optional<Tensor> bias = {};  ///< [directions, 2 * gates * n]: first of the inputs, then of the recurrent part; default: zeros
  std::optional<Tensor> initial_hidden = {};  ///< [directions, batch, n]; default: zeros
  std::optional<Tensor> initial_cell = {};    ///< the same for the cell of an LSTM, which takes both or none
  Direction direction = Direction::forward;
  bool linear_before_reset = false;  ///< for a GRU: the reset gate multiplies the product (as in PyTorch), not its operand
  bool relu = false;                 ///< for `rnn`: max(0, x) in place of tanh
};

// x [length, batch, width]; w [directions, gates * n, width], r [directions, gates * n, n]. `hidden` is of each step, `last` of the last:
// [length, directions, batch, n] and [directions, batch, n]. Errors `shape`: extents that do not match; `type`: integers or bool.
//   auto [y, h, c] = lstm(x, w, r, {.bias = b, .direction = Direction::bidirectional});

struct Lstm {
  Tensor hidden, last, cell;  ///< the last cell: [directions, batch, n]
};
/// Long short-term memory; gates in the order input, output, forget, cell.
Lstm lstm(const Tensor& x, const Tensor& w, const Tensor& r, const RecurrentOptions& options = {}, Here here = Here::now());

struct Recurrent {
  Tensor hidden, last;
};
/// Gated recurrent units; gates in the order update, reset, hidden.
Recurrent gru(const Tensor& x, const Tensor& w, const Tensor& r, const RecurrentOptions& options = {}, Here here = Here::now());
/// One gate: tanh(x w' + h r' + bias).
Recurrent rnn(const Tensor& x, const Tensor& w, const Tensor& r, const RecurrentOptions& options = {}, Here here = Here::now());

}  // namespace cleave
