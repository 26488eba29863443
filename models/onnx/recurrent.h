// Steps of recurrent networks that the functions of the vocabulary do not have: written out, gate by gate, in a loop over the sequence.
#pragma once

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// A function that a gate applies, with its numbers.
struct Activation {
  std::string name;  ///< in lower case
  double alpha = 0, beta = 0;
};

enum class RecurrentKind : std::uint8_t { rnn, gru, lstm };

/// A node's operands, with the sequence in front and the batch behind it; and what is not as the vocabulary has it.
struct Recurrent {
  RecurrentKind kind = RecurrentKind::rnn;
  std::string direction;
  Part x, w, r;
  std::optional<Part> bias, lengths, hidden, cell, peepholes;
  std::vector<Activation> activations;  ///< of one direction, then of the other
  std::optional<double> clip;
  bool input_forget = false, linear_before_reset = false;

  [[nodiscard]] std::int64_t gates() const { return kind == RecurrentKind::lstm ? 4 : kind == RecurrentKind::gru ? 3 : 1; }
  [[nodiscard]] std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

/// Hidden states of all steps [length, directions, batch, n], the last one [directions, batch, n], and of an LSTM the last cell.
Parts unrolled_by_gates(Call& c, const Recurrent& network);

}  // namespace cleave::models::onnx
