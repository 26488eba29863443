// Calls that take groups apart: `gradient(loss, params, b)`, and `each(f, params, grads, rate=0.1)`, which calls `f` once for each member.
#include <algorithm>

#include "graph/vocabulary.h"
#include "models/reader/evaluation.h"

namespace cleave::models {

PlannedCall Evaluation::plan_gradient(const ExpressionNode& node) {
  PlannedCall planned;
  for (std::size_t i = 0; i < node.parts.size(); ++i) {
    if (!node.keywords[i].text.empty()) {
      evaluator_.fail(DiagnosticKind::unknown, node.keywords[i].span, "the arguments of `gradient(loss, w, b)` have no names");
      return planned;
    }
    planned.parts.push_back({node.parts[i], i > 0 && expression_.nodes[node.parts[i]].kind == NodeType::list, nullptr});
  }
  if (planned.parts.size() < 2) {
    evaluator_.fail(DiagnosticKind::type, node.span, "`gradient` takes a loss and the values to differentiate by: `gradient(loss, w, b)`");
    return planned;
  }
  planned.kind = PlannedCall::Kind::gradient;
  return planned;
}

Arguments Evaluation::gradient(const ExpressionNode& node, const PlannedCall& planned) {
  Operands operands{single(planned.parts[0].index)};
  Arguments results;
  const auto add = [&](Index index) {
    results.push_back(argument(index));
    const Argument& value = results.back();
    if (value.members)
      operands.insert(operands.end(), value.operands.begin(), value.operands.end());
    else
      operands.push_back(value.operand);
  };
  for (std::size_t i = 1; i < planned.parts.size(); ++i) {
    const Index index = planned.parts[i].index;
    if (!planned.parts[i].list) add(index);
    if (!planned.parts[i].list) continue;
    for (const Index item : expression_.nodes[index].parts) add(item);
  }
  const Operands gradients = evaluator_.tracer.apply(op::gradient, operands, {}, evaluator_.location(node.span));
  std::size_t next = 0;
  const auto take = [&](Operand& value) { value = next < gradients.size() ? gradients[next++] : Operand(); };  // fewer after a mistake
  for (Argument& result : results) {
    if (!result.members) take(result.operand);
    for (Operand& member : result.operands) take(member);
  }
  return results;
}

/// Plans the call of the function that is named first.
PlannedCall Evaluation::plan_each(const ExpressionNode& node) {
  const auto named = [&] { return expression_.nodes[node.parts[0]].kind == NodeType::name && node.keywords[0].text.empty(); };
  if (node.parts.empty() || !named()) {
    evaluator_.fail(DiagnosticKind::type, node.span, "`each` takes the name of a function and its arguments: `each(f, params, rate=0.1)`");
    return {};
  }
  ExpressionNode inner = node;
  inner.text = expression_.nodes[node.parts[0]].text;
  inner.parts.erase(inner.parts.begin());
  inner.keywords.erase(inner.keywords.begin());
  if (!evaluator_.check_callee(inner.text, expression_.nodes[node.parts[0]].span)) return {};
  PlannedCall planned = plan(inner);
  if (planned.kind == PlannedCall::Kind::gradient || planned.each) {
    evaluator_.fail(DiagnosticKind::type, expression_.nodes[node.parts[0]].span,
                    "`each` calls a function for each member; `" + inner.text + "` takes groups itself");
    return {};
  }
  planned.each = true;
  return planned;
}

std::optional<Evaluation::Groups> Evaluation::equal_groups(const ExpressionNode& node, const PlannedCall& planned) {
  Groups groups;
  const Argument* first = nullptr;
  bool mistaken = false;
  const auto missing = [](const Argument& group, const Argument& other) {
    const auto lacks = [&](const std::string& member) { return !group.find(member); };
    const auto found = std::find_if(other.members->begin(), other.members->end(), lacks);
    return found == other.members->end() ? "" : *found;
  };
  for (const PlannedCall::ArgumentPart& part : planned.parts) {
    if (part.attribute || part.list || part.otherwise) continue;
    Argument given = argument(part.index);
    mistaken = mistaken || given.poisoned();
    if (!given.members) continue;
    const Argument& group = groups.of.emplace(part.index, std::move(given)).first->second;
    if (!first) {
      first = &group;
      groups.members = *group.members;
    }
    const std::string lacking = missing(group, *first), surplus = missing(*first, group);
    if (lacking.empty() && surplus.empty()) continue;
    evaluator_.fail(DiagnosticKind::type, expression_.nodes[part.index].span,
                    "the groups of `each` have the same members; this one " +
                        (lacking.empty() ? "has `" + surplus + "`, which the first one lacks" : "lacks `" + lacking + "`"));
    return std::nullopt;
  }
  if (first) return groups;
  if (mistaken) return std::nullopt;  // reported already
  evaluator_.fail(DiagnosticKind::type, node.span, "`each` needs a group among the arguments of `" + planned.callee + "`");
  return std::nullopt;
}

Arguments Evaluation::each(const ExpressionNode& node, const PlannedCall& planned) {
  const auto groups = equal_groups(node, planned);
  if (!groups) return {Argument()};
  Arguments results;
  for (const std::string& member : groups->members) {
    const Arguments given = call_once(node, planned, [&](Index index) {
      const auto group = groups->of.find(index);
      return group == groups->of.end() ? argument(index) : Argument{*group->second.find(member), {}, {}};
    });
    if (results.empty()) results.assign(given.size(), {{}, std::vector<std::string>(), {}});
    for (std::size_t i = 0; i < results.size(); ++i) results[i].add(member, i < given.size() ? given[i] : Argument());
  }
  return results;
}

}  // namespace cleave::models
