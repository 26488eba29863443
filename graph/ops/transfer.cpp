// to_host and to_accelerator: identities that mark a transfer as intended.
#include "graph/ops/gradient_rules.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"

namespace cleave::ops {
namespace {

TypeResult identity_type(Types inputs, const Attributes&) {
  return std::vector<TensorType>{inputs[0]};
}

Status identity_reference(const OpCall& call) {
  call.results[0] = call.inputs[0];
  return {};
}

Cost no_cost(Types, Types, const Attributes&) {
  return {};
}

constexpr Record transfer(std::string_view signature, Side side, std::string_view summary) {
  return Record(signature, 1, {}, summary, identity_type, no_cost, identity_reference)
      .moves_to(side)
      .keeps_bytes()
      .with_lengths(lengths::same);
}

}  // namespace

constexpr OpDef op::to_host = transfer("to_host(x)", Side::host, "x on the host: the transfer is meant").differentiated(gradients::to_host);

constexpr OpDef op::to_accelerator = transfer("to_accelerator(x)", Side::accelerator, "x on the accelerator: the transfer is meant")
                                         .differentiated(gradients::to_accelerator);

}  // namespace cleave::ops
