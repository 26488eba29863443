// Recurrent networks that the functions of the vocabulary do not cover: expanded gate by gate, in a loop over the sequence.
#pragma once

#include "models/onnx/activation.h"

namespace cleave::models::onnx {

enum class RecurrentKind : std::uint8_t { rnn, gru, lstm };

/// The operands of a node, with the sequence as first axis and the batch as second; and its options that the vocabulary lacks.
struct Recurrent {
  RecurrentKind kind = RecurrentKind::rnn;
  std::string direction;
  Part x, w, r;
  std::optional<Part> bias, lengths, hidden, cell, peepholes;
  std::vector<Activation> activations;  ///< for one direction, then for the other
  std::optional<double> clip;
  bool input_forget = false, linear_before_reset = false;

  [[nodiscard]] std::int64_t gates() const { return kind == RecurrentKind::lstm ? 4 : kind == RecurrentKind::gru ? 3 : 1; }
  [[nodiscard]] std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

/// Hidden states of all steps [length, directions, batch, n], the last one [directions, batch, n], and for an LSTM the last cell state.
Parts unrolled_by_gates(Call& c, const Recurrent& network);

}  // namespace cleave::models::onnx
