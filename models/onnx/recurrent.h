// Recurrent networks that the functions of the vocabulary do not cover: expanded gate by gate, in a loop over the sequence.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

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
  /// The product of values with the weights of direction `direction` (LSTM only): with `r` if `of_hidden`, else with `w`. If it is absent,
  /// `w` and `r` are [directions, gates * n, ..]; else they have the gates last, and only this function reads them.
  std::function<Part(const Part& x, bool of_hidden, std::int64_t direction)> product;

  [[nodiscard]] std::int64_t gates() const { return kind == RecurrentKind::lstm ? 4 : kind == RecurrentKind::gru ? 3 : 1; }
  [[nodiscard]] std::int64_t n() const { return r.shape()[product ? 1 : 2]; }  ///< of the hidden state
  [[nodiscard]] std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

/// The operands and options of a node of this kind; nothing after a mistake.
std::optional<Recurrent> network_of(Call& c, RecurrentKind kind);

/// Hidden states of all steps [length, directions, batch, n], the last one [directions, batch, n], and for an LSTM the last cell state.
Parts unrolled_by_gates(Call& c, const Recurrent& network);

}  // namespace cleave::models::onnx
