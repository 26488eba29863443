// to_host and to_accelerator: identities that mark a transfer as intended.
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"

namespace cleave::ops {
namespace {

TypeResult identity_type(Types inputs, const Attributes&) {
  return std::vector<TensorType>{inputs[0]};
}

Status identity_meaning(const OpCall& call) {
  call.results[0] = call.inputs[0];
  return {};
}

Cost no_cost(Types, Types, const Attributes&) {
  return {};
}

OpDef transfer(std::string name, Side side, std::string summary) {
  return {.name = name,
          .min_inputs = 1,
          .max_inputs = 1,
          .signature = name + "(x)",
          .summary = std::move(summary),
          .type_rule = identity_type,
          .cost = no_cost,
          .meaning = identity_meaning,
          .moves_to = side,
          .keeps_bytes = true};
}

}  // namespace

std::span<const OpDef> transfer_ops() {
  static const std::vector<OpDef> ops = {
      transfer("to_host", Side::host, "x on the host: the transfer is meant"),
      transfer("to_accelerator", Side::accelerator, "x on the accelerator: the transfer is meant"),
  };
  return ops;
}

}  // namespace cleave::ops
