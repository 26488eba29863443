// Gradients of the steps of recurrent networks. The gates are computed again.
#include <array>

#include "graph/ops/gradient_rules.h"
#include "graph/ops/gradient_term.h"
#include "graph/ops/rules.h"

namespace cleave::ops::gradients {
namespace {

/// The gates of an operand [.., count * n], of n elements each.
template <std::size_t count>
std::array<Term, count> gates_of(Composer& c, const Part& x) {
  Shape shape = x.shape();
  const std::int64_t n = shape.back() / static_cast<std::int64_t>(count);
  const auto gate = [&](std::size_t i) {
    Integers starts(shape.size(), 0), stops = shape;
    starts.back() = static_cast<std::int64_t>(i) * n;
    stops.back() = starts.back() + n;
    return Term(c, c(op::slice, {x}, {{"starts", starts}, {"stops", stops}}));
  };
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return std::array<Term, count>{gate(i)...};
  }
  (std::make_index_sequence<count>());
}

Part joined(Composer& c, std::initializer_list<Term> gates) {
  Parts parts;
  for (const Term& gate : gates) parts.push_back(gate.part());
  return c(op::concat, parts, {{"axis", std::int64_t{-1}}});
}

}  // namespace

void lstm_cell(Composer& c, GradientCall& call) {
  const auto z = gates_of<4>(c, c.add(call.operand(0), call.operand(1)));
  const auto sigmoid = [&](const Term& x) { return gradients::call(op::sigmoid, x); };
  const Term in = sigmoid(z[0]), out = sigmoid(z[1]), forget = sigmoid(z[2]), fresh = gradients::call(op::tanh, z[3]);
  const Term bent = gradients::call(op::tanh, Term(c, call.result(1)));
  const Term hidden(c, call.cotangent(0));
  const Term next = Term(c, call.cotangent(1)) + hidden * out * (1 - bent * bent);
  if (call.wants(0) || call.wants(1)) {
    const Term cell(c, call.operand(2));
    const Part gates = joined(c, {next * fresh * in * (1 - in), hidden * bent * out * (1 - out), next * cell * forget * (1 - forget),
                                  next * in * (1 - fresh * fresh)});
    call.give(0, gates);
    call.give(1, gates);
  }
  if (call.wants(2)) call.give(2, (next * forget).part());
}

void gru_cell(Composer& c, GradientCall& call) {
  const auto x = gates_of<3>(c, call.operand(0)), r = gates_of<3>(c, call.operand(1));
  const Term update = gradients::call(op::sigmoid, x[0] + r[0]), reset = gradients::call(op::sigmoid, x[1] + r[1]);
  const Term fresh = gradients::call(op::tanh, x[2] + reset * r[2]), hidden(c, call.operand(2)), g(c, call.cotangent(0));
  const Term by_update = g * (hidden - fresh) * update * (1 - update), by_fresh = g * (1 - update) * (1 - fresh * fresh);
  const Term by_reset = by_fresh * r[2] * reset * (1 - reset);
  if (call.wants(0)) call.give(0, joined(c, {by_update, by_reset, by_fresh}));
  if (call.wants(1)) call.give(1, joined(c, {by_update, by_reset, by_fresh * reset}));
  if (call.wants(2)) call.give(2, (g * update).part());
}

}  // namespace cleave::ops::gradients
