// Gradients of selection, conversion, matrix products and transfers.
#include "graph/ops/gradient_rules.h"
#include "graph/ops/gradient_term.h"

namespace cleave::ops::gradients {

void where(Composer& c, GradientCall& call) {
  const Term condition(c, call.operand(0)), g(c, call.cotangent(0));
  if (call.wants(1)) call.give(1, where(condition, g, 0).part());
  if (call.wants(2)) call.give(2, where(condition, 0, g).part());
}

void astype(Composer&, GradientCall& call) {
  call.give(0, call.cotangent(0));
}

/// Operands of one axis are a row on the left and a column on the right; batch axes broadcast, which `give` sums.
void matmul(Composer& c, GradientCall& call) {
  const TensorType &left = call.operand_type(0), &right = call.operand_type(1), &result = call.result_type(0);
  Shape shape = result.shape;
  if (right.rank() == 1) shape.push_back(1);
  if (left.rank() == 1) shape.insert(shape.end() - 1, 1);
  const Part g = shape == result.shape ? call.cotangent(0) : c.reshape(call.cotangent(0), shape);
  if (call.wants(0)) {
    const Part columns = right.rank() == 1 ? c.reshape(call.operand(1), {1, right.shape[0]}) : c(op::transpose, {call.operand(1)});
    Part given = c(op::matmul, {g, columns});
    if (left.rank() == 1 && given.rank() > 1) {
      Shape row = given.shape();
      row.erase(row.end() - 2);
      given = c.reshape(given, row);
    }
    call.give(0, given);
  }
  if (call.wants(1)) {
    const Part rows = left.rank() == 1 ? c.reshape(call.operand(0), {left.shape[0], 1}) : c(op::transpose, {call.operand(0)});
    Part given = c(op::matmul, {rows, g});
    if (right.rank() == 1) {
      Shape column = given.shape();
      column.pop_back();
      given = c.reshape(given, column);
    }
    call.give(1, given);
  }
}

void to_host(Composer&, GradientCall& call) {
  call.give(0, call.cotangent(0));
}
void to_accelerator(Composer&, GradientCall& call) {
  call.give(0, call.cotangent(0));
}

}  // namespace cleave::ops::gradients
