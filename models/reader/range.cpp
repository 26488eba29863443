// `for: i in range(start, stop, step)`: computes the trip count and the counter of each iteration. A `for` of the graph counts from 0.
#include "models/reader/program.h"

namespace cleave::models {
namespace {

bool integer(const Operand& operand) {
  return operand.literal && operand.literal->type == Literal::Type::integer;
}

Operand literal(std::int64_t number) {
  return Literal{Literal::Type::integer, number, 0};
}

/// Whether a number is in the range of a counter, or is an end of that range.
bool counts(const Operand& number) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  return number.literal->integer >= -kMost && number.literal->integer <= kMost;
}

}  // namespace

Operand Program::arithmetic(std::string_view op, const Operand& a, const Operand& b, Span span) {
  const OpDef* found = find_op(op);
  CLEAVE_CHECK(found != nullptr);
  return evaluator_.tracer.call(*found, std::vector{a, b}, {}, evaluator_.location(span));
}

Program::Range Program::range(const Statement& statement) {
  if (!statement.expression || statement.expression->root().kind != ExpressionNode::Kind::list ||
      statement.expression->root().text != "range") {
    return {placed(statement, statement.expression), {}, {}};
  }
  if (statement.place != Side::none) evaluator_.tracer.push_place(statement.place);
  const Operands bounds = evaluator_.parts(*statement.expression);
  const Range range = bounds.size() == 1 ? Range{bounds[0], {}, {}} : between(bounds, *statement.expression);
  if (statement.place != Side::none) evaluator_.tracer.pop_place();
  return range;
}

/// The range for two or three bounds: start, stop and an optional step.
Program::Range Program::between(const Operands& bounds, const Expression& expression) {
  const auto place = [&](std::size_t bound) { return expression.nodes[expression.root().parts[bound]].span; };
  const Operand step = bounds.size() > 2 ? bounds[2] : literal(1);
  if (!integer(step) || step.literal->integer == 0 || !counts(step)) {
    if (!step.poisoned())
      evaluator_.fail(DiagnosticKind::value, place(2), "the step of a range is a number known when the model is read, not 0");
    return {};
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (!integer(bounds[i]) || counts(bounds[i])) continue;
    evaluator_.fail(DiagnosticKind::value, place(i), "a counter is i32, from -2147483648 to 2147483647");
    return {};
  }
  const bool up = step.literal->integer > 0;
  const std::int64_t size = up ? step.literal->integer : -step.literal->integer;
  Operand distance = arithmetic("subtract", bounds[up ? 1 : 0], bounds[up ? 0 : 1], expression.span);
  if (size > 1) {
    const Operand rounded = arithmetic("add", distance, literal(size - 1), expression.span);
    distance = arithmetic("floor_divide", rounded, literal(size), expression.span);
  }
  return {arithmetic("maximum", distance, literal(0), expression.span), bounds[0], step};
}

/// The counter of iteration `trip`: always i32, even if the bounds have another type.
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
