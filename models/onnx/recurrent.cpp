// Lowerings of LSTM, GRU and RNN: by functions of the vocabulary if they cover the node's options, else gate by gate.
#include "models/onnx/recurrent.h"

#include <algorithm>
#include <cctype>

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

struct KnownActivation {
  std::string_view name;
  std::optional<double> alpha = {}, beta = {};  ///< defaults; nothing: the activation has no such parameter
};
constexpr KnownActivation kActivations[] = {
    {"affine", 1, 0}, {"elu", 1}, {"hardsigmoid", 0.2, 0.5}, {"leakyrelu", 0.01}, {"relu"}, {"scaledtanh", 1, 1}, {"sigmoid"}, {"softplus"},
    {"softsign"},     {"tanh"},   {"thresholdedrelu", 1},
};

std::vector<std::string> usual_activations(RecurrentKind kind) {
  if (kind == RecurrentKind::lstm) return {"sigmoid", "tanh", "tanh"};
  return kind == RecurrentKind::gru ? std::vector<std::string>{"sigmoid", "tanh"} : std::vector<std::string>{"tanh"};
}

/// The activations of all directions; nothing after a mistake. `activation_alpha` and `activation_beta` list values for only those
/// activations that have the parameter.
std::optional<std::vector<Activation>> activations_of(Call& c, const Recurrent& network) {
  const std::vector<std::string> usual = usual_activations(network.kind);
  std::vector<std::string> names = c.texts("activations").value_or(std::vector<std::string>());
  const auto alphas = c.numbers("activation_alpha").value_or(std::vector<double>()),
             betas = c.numbers("activation_beta").value_or(std::vector<double>());
  const std::size_t wanted = usual.size() * static_cast<std::size_t>(network.directions());
  if (names.empty() || (network.kind == RecurrentKind::rnn && names.size() > wanted)) {  // the default of RNN lists two directions
    if (!names.empty()) names.resize(wanted);
    for (std::size_t i = names.size(); i < wanted; ++i) names.push_back(usual[i % usual.size()]);
  }
  if (names.size() != wanted) {
    c.mistake(DiagnosticKind::value,
              "`" + std::string(c.op()) + "` takes " + std::to_string(wanted) + " activations here, not " + std::to_string(names.size()));
    return std::nullopt;
  }
  std::vector<Activation> found;
  std::size_t alpha = 0, beta = 0;
  for (std::string& name : names) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char letter) { return std::tolower(letter); });
    const auto* known = std::find_if(std::begin(kActivations), std::end(kActivations), [&](const auto& each) { return each.name == name; });
    if (known == std::end(kActivations)) {
      c.unsupported("with the activation `" + name + "`");
      return std::nullopt;
    }
    Activation& activation = found.emplace_back(Activation{name});
    if (known->alpha) activation.alpha = alpha < alphas.size() ? alphas[alpha++] : *known->alpha;
    if (known->beta) activation.beta = beta < betas.size() ? betas[beta++] : *known->beta;
  }
  return found;
}

/// Whether the vocabulary covers the activations: the default ones, or for an RNN relu, the same in both directions.
bool usual(const Recurrent& network) {
  const std::vector<std::string> names = usual_activations(network.kind);
  for (std::size_t i = 0; i < network.activations.size(); ++i) {
    const std::string& name = network.activations[i].name;
    const bool relu = network.kind == RecurrentKind::rnn && name == "relu" && network.activations[0].name == "relu";
    if (name != names[i % names.size()] && !relu) return false;
  }
  return network.activations[0].name == network.activations.back().name || network.kind != RecurrentKind::rnn;
}

/// Whether all sequences of the batch are known to have full length.
bool whole_sequences(Call& c, std::int64_t length) {
  const auto lengths = c.known(4);
  if (!lengths) return false;
  for (std::int64_t i = 0; i < lengths->size(); ++i)
    if (lengths->at(i) != static_cast<double>(length)) return false;
  return true;
}

/// Swaps the batch axis and the axis in front of it if `layout` puts the batch first.
Part turned(Call& c, const Part& x, bool batch_first) {
  if (!batch_first) return x;
  Integers axes{1, 0};
  for (std::int64_t axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  return c(op::permute_dims, {x}, {{"axes", std::move(axes)}});
}

Parts by_vocabulary(Call& c, const Recurrent& network) {
  Parts operands{network.x, network.w, network.r};
  if (network.bias) operands.push_back(*network.bias);
  const bool lstm = network.kind == RecurrentKind::lstm;
  const auto state = [&](const std::optional<Part>& given) {
    const Shape shape{network.directions(), network.x.shape()[1], network.r.shape()[2]};
    return given ? *given : c(op::zeros, {}, {{"shape", shape}, {"dtype", network.x.dtype()}});
  };
  if (network.hidden || (lstm && network.cell)) operands.push_back(state(network.hidden));
  if (lstm && (network.hidden || network.cell)) operands.push_back(state(network.cell));
  Attributes attributes{{"direction", network.direction}};
  if (network.kind == RecurrentKind::gru) attributes.set("linear_before_reset", network.linear_before_reset);
  if (network.kind == RecurrentKind::rnn) attributes.set("activation", network.activations[0].name);
  return c.all(c.function(), operands, std::move(attributes));
}

/// Whether the extents of the operands match, as the loop over gates requires. The vocabulary's functions report mismatches themselves.
bool fits(const Recurrent& of) {
  if (of.x.rank() != 3 || of.w.rank() != 3 || of.r.rank() != 3) return false;
  const std::int64_t batch = of.x.shape()[1], n = of.r.shape()[2], rows = of.gates() * n, directions = of.directions();
  const auto is = [](const std::optional<Part>& part, const Shape& shape) { return !part || part->shape() == shape; };
  return of.w.shape() == Shape{directions, rows, of.x.shape()[2]} && of.r.shape() == Shape{directions, rows, n} &&
         is(of.bias, {directions, 2 * rows}) && is(of.lengths, {batch}) && is(of.hidden, {directions, batch, n}) &&
         is(of.cell, {directions, batch, n}) && is(of.peepholes, {directions, 3 * n});
}

/// Converts [length, directions, batch, n] to [batch, length, directions, n], and states to batch first.
Values results_of(Call& c, const Parts& results, bool batch_first) {
  if (!batch_first) return {results.begin(), results.end()};
  Values turned_results{c(op::permute_dims, {results[0]}, {{"axes", Integers{2, 0, 1, 3}}})};
  for (std::size_t i = 1; i < results.size(); ++i) turned_results.push_back(c.wants(i) ? Value(turned(c, results[i], true)) : Value());
  return turned_results;
}

Values recurrent(Call& c) {
  const bool batch_first = c.flag("layout");
  const RecurrentKind kind = &c.function() == &op::lstm  ? RecurrentKind::lstm
                             : &c.function() == &op::gru ? RecurrentKind::gru
                                                         : RecurrentKind::rnn;
  const std::optional<Recurrent> network = network_of(c, kind);
  if (!network) return c.poison();
  const bool plain = usual(*network) && !network->clip && !network->input_forget && !network->peepholes && !network->lengths;
  if (!plain && !fits(*network))
    return c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "`: the operands do not fit " + to_string(c[0].type()) +
                                                " and recurrent weights of " + to_string(c[2].type()));
  const Parts results = plain ? by_vocabulary(c, *network) : unrolled_by_gates(c, *network);
  if (results.empty() || results[0].operand().poisoned()) return c.poison();
  return results_of(c, results, batch_first);
}

}  // namespace

std::optional<Recurrent> network_of(Call& c, RecurrentKind kind) {
  Recurrent network;
  network.kind = kind;
  network.direction = c.text("direction", "forward");
  if (network.direction == "foward") network.direction = "forward";  // version 1 of the operator has this misspelling
  c.ignore({"hidden_size", "output_sequence"});
  const bool batch_first = c.flag("layout");
  if (network.kind == RecurrentKind::lstm) network.input_forget = c.flag("input_forget");
  if (network.kind == RecurrentKind::gru) network.linear_before_reset = c.flag("linear_before_reset");
  network.clip = c.number("clip");
  const auto optional = [&](std::size_t i) { return c.has(i) ? std::optional(c[i]) : std::nullopt; };
  const auto state = [&](std::size_t i) { return c.has(i) ? std::optional(turned(c, c[i], batch_first)) : std::nullopt; };
  network.x = turned(c, c[0], batch_first);
  network.w = c[1];
  network.r = c[2];
  network.bias = optional(3);
  if (c.has(4) && !whole_sequences(c, network.x.shape().empty() ? 0 : network.x.shape()[0])) network.lengths = c[4];
  network.hidden = state(5);
  network.cell = state(6);
  network.peepholes = optional(7);
  auto activations = activations_of(c, network);
  if (!activations) return std::nullopt;
  network.activations = *std::move(activations);
  return network;
}

std::span<const Lowering> recurrent_lowerings() {
  static constexpr Lowering kRows[] = {
      {"GRU", 1, recurrent, &op::gru},
      {"LSTM", 1, recurrent, &op::lstm},
      {"RNN", 1, recurrent, &op::rnn},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
