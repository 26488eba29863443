#include "models/reader/evaluator.h"

#include <algorithm>
#include <numeric>

#include "models/reader/evaluation.h"
#include "models/reader/synonyms.h"

namespace cleave::models {

const Operand* Argument::find(std::string_view member) const {
  const auto found = std::find(members->begin(), members->end(), member);
  return found == members->end() ? nullptr : &operands[static_cast<std::size_t>(found - members->begin())];
}

bool Argument::poisoned() const {
  return members ? std::all_of(operands.begin(), operands.end(), [](const Operand& each) { return each.poisoned(); }) : operand.poisoned();
}

void Argument::add(const std::string& member, const Argument& value) {
  if (!value.members) {
    members->push_back(member);
    operands.push_back(value.operand);
    return;
  }
  for (const std::string& inner : *value.members) members->push_back(member + "." + inner);
  operands.insert(operands.end(), value.operands.begin(), value.operands.end());
}

Arguments Evaluator::all(const Expression& expression) {
  Evaluation evaluation(*this, expression);
  const auto root = static_cast<std::uint32_t>(expression.nodes.size() - 1);
  evaluation.run({root});
  if (expression.root().kind == ExpressionNode::Kind::list) return {{evaluation.single(root), {}, {}}};
  return evaluation.results(root);
}

Operand Evaluator::one(const Expression& expression) {
  Evaluation evaluation(*this, expression);
  const auto root = static_cast<std::uint32_t>(expression.nodes.size() - 1);
  evaluation.run({root});
  return evaluation.single(root);
}

Operands Evaluator::parts(const Expression& list, const std::vector<std::uint32_t>& of) {
  Evaluation evaluation(*this, list);
  evaluation.run(of);
  Operands operands;
  for (const std::uint32_t part : of) operands.push_back(evaluation.single(part));
  return operands;
}

std::optional<LiteralList> Evaluator::literals(const Expression& expression, const std::string& what, std::optional<std::uint32_t> node) {
  Evaluation evaluation(*this, expression);
  const std::uint32_t root = node.value_or(static_cast<std::uint32_t>(expression.nodes.size() - 1));
  evaluation.run({root});
  return evaluation.literals(root, what);
}

std::optional<Literal> Evaluator::literal(const Expression& expression, const std::string& what, std::optional<std::uint32_t> node) {
  const auto list = literals(expression, what, node);
  if (!list) return std::nullopt;
  if (list->shape.empty()) return list->values.front();
  fail(DiagnosticKind::type, node ? expression.nodes[*node].span : expression.span, what + " is one number, not a list");
  return std::nullopt;
}

std::optional<std::int64_t> Evaluator::integer(const Expression& expression, const std::string& what, std::optional<std::uint32_t> node) {
  const auto found = literal(expression, what, node);
  if (!found) return std::nullopt;
  if (found->type == Literal::Type::integer) return found->integer;
  fail(DiagnosticKind::type, node ? expression.nodes[*node].span : expression.span, what + " is an integer, not `" + spelled(*found) + "`");
  return std::nullopt;
}

std::optional<double> Evaluator::number(const Expression& expression, const std::string& what) {
  const auto found = literal(expression, what);
  if (!found) return std::nullopt;
  if (found->type != Literal::Type::boolean) return to_double(*found);
  fail(DiagnosticKind::type, expression.span, what + " is a number, not `" + spelled(*found) + "`");
  return std::nullopt;
}

std::string Evaluator::meant_dtype(std::string_view name) const {
  if (const std::string_view meant = dtype_meant(name); !meant.empty()) return "; did you mean `" + std::string(meant) + "`?";
  std::vector<std::string> names;
  for (int i = 0; i < kDTypeCount; ++i) names.emplace_back(to_string(static_cast<DType>(i)));
  return errors.suggest(name, names);
}

bool Evaluator::check_sizes(const Expression& type) {
  for (const ExpressionNode& node : type.nodes) {
    if (node.kind != ExpressionNode::Kind::name || parse_dtype(node.text)) continue;
    if (scopes.is_dim(node.text)) continue;
    if (const Binding* binding = scopes.find(node.text); binding && binding->unknown) return false;  // reported already
    const std::string near = errors.suggest(node.text, scopes.dims());
    fail(DiagnosticKind::unknown, node.span, "unknown size `" + node.text + "`" + (near.empty() ? "; declare it under `dims:`" : near));
    scopes.bind_unknown(node.text, node.span);
    return false;
  }
  return true;
}

std::optional<TensorType> Evaluator::type(const Expression& expression) {
  const ExpressionNode& root = expression.root();
  const ExpressionNode& first = root.kind == ExpressionNode::Kind::index ? expression.nodes[root.parts[0]] : root;
  if (first.kind != ExpressionNode::Kind::name) {
    fail(DiagnosticKind::type, expression.span, "a type is written like `f32[4, 2]`, or `f32[]` for a scalar");
    return std::nullopt;
  }
  const auto dtype = parse_dtype(first.text);
  if (!dtype) {
    fail(DiagnosticKind::unknown, first.span, "unknown element type `" + first.text + "`" + meant_dtype(first.text));
    return std::nullopt;
  }
  if (root.kind != ExpressionNode::Kind::index) {
    fail(DiagnosticKind::type, expression.span,
         "a type has its shape behind it: `" + first.text + "[]` for a scalar, `" + first.text + "[4, 2]`");
    return std::nullopt;
  }
  TensorType type{*dtype, {}};
  if (!check_sizes(expression)) return std::nullopt;
  Evaluation evaluation(*this, expression);
  const std::vector<std::uint32_t> extents(root.parts.begin() + 1, root.parts.end());
  evaluation.run(extents);
  for (const std::uint32_t extent : extents) {
    const auto list = evaluation.literals(extent, "an extent");
    if (!list) return std::nullopt;
    const Literal value = list->shape.empty() ? list->values.front() : Literal{Literal::Type::floating, 0, 0};
    if (value.type != Literal::Type::integer || value.integer < 0) {
      const std::string found = list->shape.empty() ? "`" + spelled(value) + "`" : "a list";
      fail(DiagnosticKind::shape, expression.nodes[extent].span, "an extent is an integer of at least 0, not " + found);
      return std::nullopt;
    }
    type.shape.push_back(value.integer);
  }
  if (!checked_bytes(type)) {
    fail(DiagnosticKind::shape, expression.span, "a tensor of this size is beyond every memory: " + to_string(type));
    return std::nullopt;
  }
  return type;
}

}  // namespace cleave::models
