#include "models/reader/evaluation.h"

#include <array>
#include <limits>

namespace cleave::models {
namespace {

constexpr std::pair<std::string_view, std::string_view> kOperators[] = {
    {"+", "add"},         {"-", "subtract"}, {"*", "multiply"},       {"/", "divide"},        {"//", "floor_divide"},
    {"%", "remainder"},   {"**", "pow"},     {"==", "equal"},         {"!=", "not_equal"},    {"<", "less"},
    {"<=", "less_equal"}, {">", "greater"},  {">=", "greater_equal"}, {"and", "logical_and"}, {"or", "logical_or"}};

constexpr std::size_t kMostAxes = 32;

}  // namespace

Evaluation::Evaluation(Evaluator& evaluator, const Expression& expression)
    : evaluator_(evaluator), expression_(expression), roles_(expression.nodes.size(), Role::none), results_(expression.nodes.size()) {}

void Evaluation::run(std::vector<Index> roots) {
  if (evaluator_.exhausted()) return;
  evaluator_.work += expression_.nodes.size();
  if (evaluator_.exhausted()) {
    evaluator_.fail(DiagnosticKind::limit, expression_.span,
                    "the model has more than " + std::to_string(Evaluator::kMostWork) + " operations here, with its functions inlined");
    return;
  }
  for (const Index root : roots) want(root, true);
  for (Index i = static_cast<Index>(expression_.nodes.size()); i-- > 0;) {
    if (roles_[i] != Role::none) assign(i);
  }
  for (Index i = 0; i < expression_.nodes.size(); ++i) {
    if (roles_[i] == Role::operand) results_[i] = evaluate(i);
  }
}

void Evaluation::want(Index index, bool list_allowed) {
  if (index == ExpressionNode::kNone) return;
  const bool list = list_allowed && expression_.nodes[index].kind == NodeType::list;
  roles_[index] = list ? Role::list : Role::operand;
}

void Evaluation::assign(Index index) {
  const ExpressionNode& node = expression_.nodes[index];
  switch (node.kind) {
    case NodeType::literal:
    case NodeType::text:
    case NodeType::name: return;
    case NodeType::list:
      for (const Index part : node.parts) want(part, true);
      return;
    case NodeType::call: {
      const PlannedCall& planned = calls_.emplace(index, plan(node)).first->second;
      for (const PlannedCall::Part& part : planned.parts) {
        const NodeType kind = expression_.nodes[part.index].kind;
        const bool spelled_out = part.attribute && (kind == NodeType::text || part.attribute->type == AttributeDef::Type::dtype);
        if (!spelled_out) want(part.index, part.list || part.attribute);
      }
      return;
    }
    case NodeType::unary:
    case NodeType::binary:
    case NodeType::index:
    case NodeType::range:
      for (const Index part : node.parts) want(part);
      return;
  }
}

Operands Evaluation::evaluate(Index index) {
  const ExpressionNode& node = expression_.nodes[index];
  switch (node.kind) {
    case NodeType::literal: return {{node.literal, evaluator_.tracer.chained(evaluator_.location(node.span))}};
    case NodeType::text:
      evaluator_.fail(DiagnosticKind::type, node.span, "a text is no value; only labels and paths are texts");
      return {Operand()};
    case NodeType::name: return {name(node)};
    case NodeType::unary: return {unary(node)};
    case NodeType::binary: return {binary(node)};
    case NodeType::call: return call(node, calls_.at(index));
    case NodeType::list: return {constant_list(index)};
    case NodeType::index: return {this->index(node)};
    case NodeType::range: break;
  }
  return {};
}

Operand Evaluation::single(Index index) {
  const ExpressionNode& node = expression_.nodes[index];
  if (roles_[index] == Role::list) return constant_list(index);
  const Operands& results = results_[index];
  if (results.size() == 1) return results.front();
  if (evaluator_.exhausted()) return {};
  if (results.empty()) {
    evaluator_.fail(DiagnosticKind::type, node.span, "`" + node.text + "` gives no result that could be used here");
  } else {
    for (const Operand& result : results) {
      if (result.poisoned()) return {};
    }
    evaluator_.fail(
        DiagnosticKind::type, node.span,
        "`" + node.text + "` gives " + std::to_string(results.size()) + " results; bind them to names first, as in `\"a, b\": …`");
  }
  return {};
}

Operand Evaluation::name(const ExpressionNode& node) {
  if (const Binding* binding = evaluator_.scopes.find(node.text)) return binding->operand;
  std::vector<Note> notes;
  std::string suggestion;
  if (const auto place = evaluator_.scopes.ended(node.text)) {
    notes.push_back(
        evaluator_.errors.note(*place, "a name first bound inside a loop, branch or function stays there; bind it before to carry it out"));
  } else if (!evaluator_.errors.full()) {
    suggestion = evaluator_.errors.suggest(node.text, evaluator_.scopes.visible());
  }
  evaluator_.fail(DiagnosticKind::unknown, node.span, "unknown name `" + node.text + "`" + suggestion, std::move(notes));
  evaluator_.scopes.bind_unknown(node.text, node.span);  // said once
  return {};
}

Operand Evaluation::apply(std::string_view op, const Operands& operands, Span span) {
  const OpDef* found = find_op(op);
  CLEAVE_CHECK(found != nullptr, "an operator without its op");
  return evaluator_.tracer.call(*found, operands, {}, evaluator_.location(span));
}

Operand Evaluation::unary(const ExpressionNode& node) {
  const Operand operand = single(node.parts[0]);
  if (node.text == "+" || operand.poisoned()) return operand;
  return apply(node.text == "not" ? "logical_not" : "negative", {operand}, node.span);
}

Operand Evaluation::binary(const ExpressionNode& node) {
  const Operand left = single(node.parts[0]);
  const Operand right = single(node.parts[1]);
  for (const auto& [symbol, op] : kOperators) {
    if (node.text == symbol) return apply(op, {left, right}, node.span);
  }
  return {};
}

/// A bound of a slice, or an index.
std::optional<std::int64_t> Evaluation::bound(Index index) {
  const auto list = literals(index, "an index (a position known only at run time is not supported yet)");
  if (!list) return std::nullopt;
  if (list->shape.empty() && list->values[0].type == Literal::Type::integer) return list->values[0].integer;
  evaluator_.fail(DiagnosticKind::type, expression_.nodes[index].span, "an index is an integer");
  return std::nullopt;
}

Operand Evaluation::index(const ExpressionNode& node) {
  const Operand base = single(node.parts[0]);
  const TensorType* type = evaluator_.tracer.type(base);
  if (node.parts.size() == 1) {
    evaluator_.fail(DiagnosticKind::syntax, node.span, "an index is missing between the brackets");
    return {};
  }
  std::vector<std::int64_t> starts, stops, steps, dropped;
  bool stepped = false;
  for (std::size_t axis = 0; axis + 1 < node.parts.size(); ++axis) {
    const ExpressionNode& part = expression_.nodes[node.parts[axis + 1]];
    const bool range = part.kind == NodeType::range;
    const auto given = [&](std::size_t i, std::int64_t otherwise) {
      return part.parts[i] == ExpressionNode::kNone ? std::optional(otherwise) : bound(part.parts[i]);
    };
    using Limits = std::numeric_limits<std::int64_t>;
    const std::int64_t extent = type && axis < type->shape.size() ? type->shape[axis] : Limits::max();
    const auto step = range ? given(2, 1) : std::optional<std::int64_t>(1);
    const bool backwards = step && *step < 0;
    const auto start = range ? given(0, backwards ? Limits::max() : 0) : bound(node.parts[axis + 1]);
    if (!step || !start) return {};
    const auto stop = range ? given(1, backwards ? Limits::min() : extent) : std::optional(*start < Limits::max() ? *start + 1 : *start);
    if (!stop) return {};
    starts.push_back(*start);
    stops.push_back(*stop);
    steps.push_back(*step);
    stepped = stepped || *step != 1;
    if (!range) dropped.push_back(static_cast<std::int64_t>(axis));
  }
  Attributes attributes{{"starts", std::move(starts)}, {"stops", std::move(stops)}};
  if (stepped) attributes.set("steps", std::move(steps));
  if (!dropped.empty()) attributes.set("squeeze", std::move(dropped));
  const OpDef* slice = find_op("slice");
  CLEAVE_CHECK(slice != nullptr);
  return evaluator_.tracer.call(*slice, std::array{base}, std::move(attributes), evaluator_.location(node.span));
}

/// A list where a value is meant: a constant, if it is of numbers.
Operand Evaluation::constant_list(Index index) {
  const auto list = literals(index, "each part of a list");
  if (!list) return {};
  const auto dtype = common_dtype(list->values);
  const Span span = expression_.nodes[index].span;
  if (!dtype) {
    evaluator_.fail(DiagnosticKind::type, span, "a list is of numbers or of true and false, not of both");
    return {};
  }
  std::string wrong;
  const auto array = to_array(*list, *dtype, &wrong);
  return array ? evaluator_.tracer.constant(*array, evaluator_.location(span)) : Operand();
}

std::optional<LiteralList> Evaluation::literals(Index index, const std::string& what) {
  const ExpressionNode& node = expression_.nodes[index];
  if (node.kind != NodeType::list) {
    const Operand operand = single(index);
    if (operand.literal) return LiteralList{{}, {*operand.literal}};
    if (!operand.poisoned()) evaluator_.fail(DiagnosticKind::value, node.span, what + " must be a number known when the model is read");
    return std::nullopt;
  }
  LiteralList list;
  list.shape = {0};
  for (const Index part : node.parts) {
    auto read = literals(part, what);
    if (!read) return std::nullopt;
    if (list.shape[0] == 0) list.shape.clear();
    if (!append(list, *read) || list.shape.size() > kMostAxes) {
      evaluator_.fail(DiagnosticKind::shape, expression_.nodes[part].span,
                      "the parts of a list must all have the same shape, of at most 32 axes");
      return std::nullopt;
    }
  }
  return list;
}

}  // namespace cleave::models
