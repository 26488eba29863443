#include "models/reader/evaluation.h"

#include "graph/base/spelling.h"
#include "graph/written.h"
#include "models/onnx/onnx_function.h"
#include "models/reader/synonyms.h"

namespace cleave::models {
namespace {

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
    case NodeType::name:
    case NodeType::ellipsis:
    case NodeType::new_axis: return;
    case NodeType::list:
      for (const Index part : node.parts) want(part, true);
      return;
    case NodeType::call: {
      const PlannedCall& planned = calls_.emplace(index, plan(node)).first->second;
      for (const PlannedCall::ArgumentPart& part : planned.parts) {
        if (part.otherwise) continue;
        const NodeType kind = expression_.nodes[part.index].kind;
        const bool spelled_out = part.attribute && (kind == NodeType::text || part.attribute->type == AttributeDef::Type::dtype);
        if (!spelled_out) want(part.index, part.list || part.attribute);
      }
      if (planned.weights) want(*planned.weights);
      return;
    }
    case NodeType::unary:
    case NodeType::binary:
    case NodeType::index:
    case NodeType::range:
      for (const Index part : node.parts) want(part, node.kind == NodeType::index);
      return;
  }
}

Arguments Evaluation::evaluate(Index index) {
  const auto one = [](Operand operand) { return Arguments{{std::move(operand), {}, {}}}; };
  const ExpressionNode& node = expression_.nodes[index];
  switch (node.kind) {
    case NodeType::literal: return one({node.literal, evaluator_.tracer.chained(evaluator_.location(node.span))});
    case NodeType::text:
      evaluator_.fail(DiagnosticKind::type, node.span, "a text is no value; only labels and paths are texts");
      return one({});
    case NodeType::name: return {name(node)};
    case NodeType::unary: return one(unary(node));
    case NodeType::binary: return one(binary(node));
    case NodeType::call: return call(node, calls_.at(index));
    case NodeType::list: return one(list(index));
    case NodeType::index: return one(this->index(node));
    case NodeType::range:
    case NodeType::ellipsis:
    case NodeType::new_axis: break;
  }
  return {};
}

Operand Evaluation::single(Index index) {
  const Argument found = argument(index);
  if (!found.members) return found.operand;
  const ExpressionNode& node = expression_.nodes[index];
  const bool named = node.kind == NodeType::name;
  if (!named && found.poisoned()) return {};
  evaluator_.fail(DiagnosticKind::type, node.span,
                  "`" + node.text + (named ? "` is a group" : "` gives a group") + "; its members are written `" +
                      (named ? node.text : "name") + "." + found.members->front() + (named ? "`" : "`, with a name to which it is bound"));
  return {};
}

Argument Evaluation::argument(Index index) {
  const ExpressionNode& node = expression_.nodes[index];
  if (roles_[index] == Role::list) return {list(index), {}, {}};
  const Arguments& results = results_[index];
  if (results.size() == 1) return results.front();
  if (evaluator_.exhausted()) return {};
  if (results.empty()) {
    evaluator_.fail(DiagnosticKind::type, node.span, "`" + node.text + "` gives no result that could be used here");
  } else {
    for (const Argument& result : results) {
      if (result.poisoned()) return {};
    }
    evaluator_.fail(
        DiagnosticKind::type, node.span,
        "`" + node.text + "` gives " + std::to_string(results.size()) + " results; bind them to names first, as in `\"a, b\": …`");
  }
  return {};
}

Argument Evaluation::name(const ExpressionNode& node) {
  if (const Binding* binding = evaluator_.scopes.find(node.text)) return {binding->operand, {}, {}};
  if (const auto* members = evaluator_.scopes.find_group(node.text)) {
    Argument group{{}, *members, {}};
    for (const std::string& member : *members) {
      const Binding* binding = evaluator_.scopes.find(node.text + "." + member);
      group.operands.push_back(binding ? binding->operand : Operand());
    }
    return group;
  }
  if (is_member(node.text)) return {unknown_member(node), {}, {}};
  std::vector<Note> notes;
  std::string suggestion;
  const auto model = evaluator_.models.find(node.text);
  const auto hides = [&] {
    const auto& weights = model->second->weights();
    return !weights.empty() && evaluator_.scopes.hidden(node.text + "." + weights.front().first);
  };
  if (const std::string* why = evaluator_.scopes.apart(node.text)) {
    suggestion = "; " + *why;
  } else if (evaluator_.scopes.hidden(node.text) || (model != evaluator_.models.end() && hides())) {
    suggestion = "; a function sees what it takes: add `" + node.text + "` to `takes:` and to the call";
  } else if (model != evaluator_.models.end()) {
    suggestion = "; the model of this name has no parameters: it says `parameters: none`";
  } else if (const auto place = evaluator_.scopes.ended(node.text)) {
    notes.push_back(
        evaluator_.errors.note(*place, "a name first bound inside a loop, branch or function stays there; bind it before to carry it out"));
  } else if (!evaluator_.errors.full()) {
    suggestion = instead_of_name(node.text);
    if (suggestion.empty()) suggestion = evaluator_.errors.suggest(node.text, evaluator_.scopes.visible());
  }
  evaluator_.fail(DiagnosticKind::unknown, node.span, "unknown name `" + node.text + "`" + suggestion, std::move(notes));
  evaluator_.scopes.bind_unknown(node.text, node.span);  // reported once only
  return {};
}

/// Reports an unknown member: `layer.v` where the group has no `v`, or `x.shape`, as values have no members.
Operand Evaluation::unknown_member(const ExpressionNode& node) {
  const std::size_t dot = node.text.rfind('.');
  const std::string owner = node.text.substr(0, dot), member = node.text.substr(dot + 1);
  const Binding* known = evaluator_.scopes.find(owner);
  if (known && known->operand.poisoned()) return {};  // reported already
  if (const auto* members = evaluator_.scopes.find_group(owner)) {
    evaluator_.fail(DiagnosticKind::unknown, node.span,
                    "the group `" + owner + "` has no `" + member + "`" + did_you_mean_or_has(member, *members));
  } else if (evaluator_.scopes.find(owner)) {
    const std::string advice = member == "T" ? "; write `transpose(" + owner + ")`" : "";
    evaluator_.fail(DiagnosticKind::syntax, node.span,
                    "`" + node.text + "` has no meaning in an expression: values have no members" + advice);
  } else {
    evaluator_.fail(DiagnosticKind::unknown, node.span,
                    "unknown name `" + owner + "`" + evaluator_.errors.suggest(owner, evaluator_.scopes.visible()));
  }
  evaluator_.scopes.bind_unknown(node.text, node.span);  // reported once only
  return {};
}

Operand Evaluation::apply(std::string_view symbol, std::string_view op, const Operands& operands, Span span) {
  const OpDef* found = find_op(op);
  CLEAVE_CHECK(found != nullptr, "an operator without its op");
  return evaluator_.tracer.operate(symbol, *found, operands, evaluator_.location(span));
}

Operand Evaluation::unary(const ExpressionNode& node) {
  const Operand operand = single(node.parts[0]);
  if (node.text == "+" || operand.poisoned()) return operand;
  return apply(node.text, node.text == "not" ? "logical_not" : "negative", {operand}, node.span);
}

Operand Evaluation::binary(const ExpressionNode& node) {
  const Operand left = single(node.parts[0]);
  const Operand right = single(node.parts[1]);
  const std::string_view op = op_of_operator(node.text);
  return op.empty() ? Operand() : apply(node.text, op, {left, right}, node.span);
}

/// A list used as a value: a constant if it holds numbers only, else its parts stacked.
Operand Evaluation::list(Index index) {
  const Span span = expression_.nodes[index].span;
  std::optional<DType> dtype;
  if (!add_dtypes(index, dtype)) return {};
  if (dtype) return stacked(index, *dtype);
  const auto list = literals(index, "each part of a list");
  if (!list) return {};
  dtype = common_dtype(list->values);
  if (!dtype) {
    evaluator_.fail(DiagnosticKind::type, span, "a list is of numbers or of true and false, not of both");
    return {};
  }
  std::string wrong;
  const auto array = to_array(*list, *dtype, &wrong);
  return array ? evaluator_.tracer.constant(*array, evaluator_.location(span)) : Operand();
}

/// Sets `dtype` to the common element type of the non-literal parts, nested lists included; leaves it unchanged if there are none. False
/// after a mistake.
bool Evaluation::add_dtypes(Index index, std::optional<DType>& dtype) {
  for (const Index part : expression_.nodes[index].parts) {
    if (roles_[part] == Role::list) {
      if (!add_dtypes(part, dtype)) return false;
      continue;
    }
    const Operand operand = single(part);
    if (operand.poisoned()) return false;
    if (operand.literal) continue;
    const DType own = evaluator_.tracer.type(operand)->dtype;
    dtype = dtype ? promote(*dtype, own) : own;
  }
  return true;
}

/// `[a, 0.1, [b, c]]`: literals take the element type of the other parts.
Operand Evaluation::stacked(Index index, DType dtype) {
  const ExpressionNode& node = expression_.nodes[index];
  std::vector<Operand> parts;
  for (const Index part : node.parts) {
    Operand operand = roles_[part] == Role::list ? stacked(part, dtype) : single(part);
    if (operand.poisoned()) return {};
    if (operand.literal && fits(*operand.literal, dtype)) {
      operand = evaluator_.tracer.materialize(operand, evaluator_.location(expression_.nodes[part].span), dtype);
    }
    parts.push_back(std::move(operand));
  }
  if (parts.empty()) {
    evaluator_.fail(DiagnosticKind::shape, node.span, "a list of values needs at least one");
    return {};
  }
  const OpDef* stack = find_op("stack");
  CLEAVE_CHECK(stack != nullptr);
  return evaluator_.tracer.call(*stack, parts, {}, evaluator_.location(node.span));
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
