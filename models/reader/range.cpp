// `for: i in range(start, stop, step)`: how many trips that are, and what each of them counts. A `for` of the graph counts from 0.
#include <limits>

#include "models/reader/program.h"

namespace cleave::models {
namespace {

bool integer(const Operand& operand) {
  return operand.literal && operand.literal->type == Literal::Type::integer;
}

Operand literal(std::int64_t number) {
  return Literal{Literal::Type::integer, number, 0};
}

}  // namespace

Operand Program::arithmetic(std::string_view op, const Operand& a, const Operand& b, Span span) {
  const OpDef* found = find_op(op);
  CLEAVE_CHECK(found != nullptr);
  return evaluator_.tracer.call(*found, std::vector{a, b}, {}, evaluator_.location(span));
}

Program::Range Program::range(const Statement& statement) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  if (!statement.expression || statement.expression->root().kind != ExpressionNode::Kind::list ||
      statement.expression->root().text != "range") {
    return {placed(statement, statement.expression), {}, {}};
  }
  const Expression& expression = *statement.expression;
  if (statement.place != Side::none) evaluator_.tracer.push_place(statement.place);
  const Operands bounds = evaluator_.parts(expression);
  Range range{bounds[0], {}, {}};
  if (bounds.size() > 1) {
    const Operand step = bounds.size() > 2 ? bounds[2] : literal(1);
    const bool known = integer(step) && step.literal->integer != 0 && std::abs(step.literal->integer) <= kLargest;
    if (known) {
      const bool up = step.literal->integer > 0;
      const std::int64_t size = std::abs(step.literal->integer);
      const Span span = expression.span;
      Operand distance = arithmetic("subtract", bounds[up ? 1 : 0], bounds[up ? 0 : 1], span);
      if (size > 1) distance = arithmetic("floor_divide", arithmetic("add", distance, literal(size - 1), span), literal(size), span);
      range = {arithmetic("maximum", distance, literal(0), span), bounds[0], step};
    } else {
      const Span span = expression.nodes[expression.root().parts[2]].span;
      if (!step.poisoned())
        evaluator_.fail(DiagnosticKind::value, span, "the step of a range is a number known when the model is read, not 0");
      range.count = {};
    }
  }
  if (statement.place != Side::none) evaluator_.tracer.pop_place();
  return range;
}

/// A counter is i32, also where the bounds are of another type.
Operand Program::counted(const Range& range, const Operand& trip, const Name& counter) {
  if (range.plain()) return trip;
  Operand value = trip;
  if (range.step.literal->integer != 1) value = arithmetic("multiply", value, range.step, counter.span);
  if (!integer(range.start) || range.start.literal->integer != 0) value = arithmetic("add", value, range.start, counter.span);
  const TensorType* type = evaluator_.tracer.type(value);
  if (!type || type->dtype == DType::i32) return value;
  const OpDef* astype = find_op("astype");
  return evaluator_.tracer.call(*astype, std::vector{value}, {{"dtype", DType::i32}}, evaluator_.location(counter.span));
}

}  // namespace cleave::models
