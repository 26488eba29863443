// Calls in expressions: finds the op or function that is called, assigns arguments to parameters, and converts attributes to the types that
// the op declares.
#include <algorithm>
#include <array>

#include "graph/vocabulary.h"
#include "models/reader/evaluation.h"
#include "models/reader/synonyms.h"

namespace cleave::models {
namespace {

constexpr std::uint32_t kNone = ExpressionNode::kNone;

/// Names of functions in other libraries, with ours.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOtherNames = {
    {{"avg_pool2d", "avg_pool"}, {"conv2d", "conv"}, {"max_pool2d", "max_pool"}}};

/// The op that `name` calls if the user has no function of that name.
const OpDef* find_called(std::string_view name) {
  for (const auto& [other, own] : kOtherNames)
    if (name == other) return find_function(own);
  const OpDef* op = find_function(name);
  return op == &op::custom_gradient || op == &op::gradient_rule ? nullptr : op;  // recorded for the key `gradient` alone
}

const AttributeDef* find_attribute(const OpDef& op, std::string_view name) {
  const auto found = std::find_if(op.attributes.begin(), op.attributes.end(), [&](const AttributeDef& def) { return def.name == name; });
  return found == op.attributes.end() ? nullptr : &*found;
}

/// Parses a signature such as "concat([arrays], axis?)".
std::vector<SignatureParameter> parameters_of(const OpDef& op) {
  std::vector<SignatureParameter> parameters;
  const std::size_t open = op.signature.find('(');
  const std::size_t close = op.signature.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return parameters;
  std::string_view rest = std::string_view(op.signature).substr(open + 1, close - open - 1);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view word = trimmed(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    SignatureParameter parameter;
    if (word.ends_with('?')) {
      parameter.optional = true;
      word.remove_suffix(1);
    }
    if (word.starts_with('[') && word.ends_with(']')) {
      parameter.list = true;
      word = word.substr(1, word.size() - 2);
    }
    parameter.name = word;
    parameter.attribute = find_attribute(op, word);
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

/// Accepts `print(x, "label")` for `print("label", x)`: a text can only be meant for the one parameter that takes a text.
void put_text_in_place(const Expression& expression, const std::vector<SignatureParameter>& parameters, const ExpressionNode& call,
                       std::vector<std::uint32_t>& slots) {
  const auto takes_text = [](const SignatureParameter& p) { return p.attribute && p.attribute->type == AttributeDef::Type::text; };
  const auto own = static_cast<std::size_t>(std::find_if(parameters.begin(), parameters.end(), takes_text) - parameters.begin());
  const auto positional = [&](std::size_t i) { return i < call.parts.size() && call.keywords[i].text.empty() && slots[i] != kNone; };
  const auto is_text = [&](std::size_t i) { return expression.nodes[slots[i]].kind == ExpressionNode::Kind::text; };
  if (own == parameters.size() || !positional(own) || is_text(own)) return;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (positional(i) && !parameters[i].attribute && is_text(i)) return std::swap(slots[i], slots[own]);
  }
}

/// Whether `log` is called for a metric, `log("loss", x)`, and not for the logarithm.
bool logs_metric(const Expression& expression, const ExpressionNode& call) {
  if (call.text != "log") return false;
  for (std::size_t i = 0; i < call.parts.size(); ++i)
    if (call.keywords[i].text == "label" || expression.nodes[call.parts[i]].kind == ExpressionNode::Kind::text) return true;
  return false;
}

}  // namespace

PlannedCall Evaluation::plan(const ExpressionNode& node) {
  if (!evaluator_.check_callee(node.text, node.span)) return {};
  if (evaluator_.inliner) {
    if (const auto* takes = evaluator_.inliner->takes(node.text)) return plan_names(node, *takes);
  }
  const auto host_function = evaluator_.host_functions.find(node.text);
  if (host_function != evaluator_.host_functions.end()) return plan_host_function(node, host_function->second);
  const auto model = evaluator_.models.find(node.text);
  if (model != evaluator_.models.end()) return plan_model(node, *model->second);
  if (node.text == kEach) return plan_each(node);
  if (node.text == op::gradient.name) return plan_gradient(node);
  return plan_op(node, logs_metric(expression_, node) ? op::log_metric : *find_called(node.text));
}

bool Evaluator::check_callee(const std::string& name, Span span) {
  if ((inliner && inliner->takes(name)) || host_functions.contains(name) || models.contains(name)) return true;
  if (unreadable.contains(name)) return false;
  if (find_called(name) || name == kEach) return true;
  if (name == kBatches) {
    fail(DiagnosticKind::syntax, span, "`batches` stands in the head of a loop: `for: (x, y) in batches(a, b, size=64)`");
    return false;
  }
  std::string suggestion;
  if (!errors.full()) {
    std::vector<std::string> names;
    if (inliner) names = inliner->function_names();
    for (const auto& [declared, function] : host_functions) names.push_back(declared);
    for (const auto& [declared, function] : models) names.push_back(declared);
    for (const OpDef* op : all_functions()) names.emplace_back(op->name);
    for (const OpDef* transform : {&op::gradient, &op::stop_gradient}) names.emplace_back(transform->name);
    suggestion = instead_of_operation(name);
    if (suggestion.empty()) suggestion = errors.suggest(name, names);
    const std::string last = name.substr(name.rfind('_') + 1);  // "relu" of `torch_relu`
    if (suggestion.empty() && find_function(last)) suggestion = "; did you mean `" + last + "`?";
  }
  fail(DiagnosticKind::unknown, span, "unknown operation `" + name + "`" + suggestion);
  return false;
}

std::optional<std::vector<Evaluation::Index>> Evaluation::place_arguments(const ExpressionNode& node, std::string_view signature,
                                                                          const std::vector<std::string>& names,
                                                                          const TakeKeyword& elsewhere) {
  std::vector<Index> slots(names.size(), kNone);
  const auto refuse = [&](DiagnosticKind kind, Span span, std::string message) {
    evaluator_.fail(kind, span, std::move(message));
    return std::nullopt;
  };
  for (std::size_t i = 0; i < node.parts.size(); ++i) {
    const Name& keyword = node.keywords[i];
    const Span span = keyword.text.empty() ? expression_.nodes[node.parts[i]].span : keyword.span;
    std::size_t slot = i;
    if (!keyword.text.empty()) {
      slot = static_cast<std::size_t>(std::find(names.begin(), names.end(), keyword.text) - names.begin());
      if (slot == names.size() && elsewhere && elsewhere(keyword.text, node.parts[i])) continue;
      if (slot == names.size()) {
        const std::string meant(argument_meant(keyword.text));
        const bool known = std::find(names.begin(), names.end(), meant) != names.end();
        const std::string suggestion = known ? "; did you mean `" + meant + "`?" : evaluator_.errors.suggest(keyword.text, names);
        return refuse(DiagnosticKind::unknown, span, "`" + std::string(signature) + "` takes no `" + keyword.text + "`" + suggestion);
      }
    }
    if (slot >= slots.size()) {
      const std::string other_op = node.text == "transpose" ? "; `permute_dims(x, [0, 2, 1])` reorders axes" : "";
      return refuse(DiagnosticKind::type, span, "one argument too many for `" + std::string(signature) + "`" + other_op);
    }
    if (slots[slot] != kNone) return refuse(DiagnosticKind::value, span, "`" + names[slot] + "` is given twice");
    slots[slot] = node.parts[i];
  }
  return slots;
}

PlannedCall Evaluation::plan_op(const ExpressionNode& node, const OpDef& op) {
  const std::vector<SignatureParameter> parameters = parameters_of(op);
  std::vector<std::string> names;
  for (const SignatureParameter& parameter : parameters) names.push_back(parameter.name);
  const std::string signature =
      node.text == "log" ? "log" + std::string(op.signature.substr(op.signature.find('('))) : std::string(op.signature);
  PlannedCall planned;
  auto slots = place_arguments(node, signature, names, [&](const std::string& keyword, Index part) {
    const AttributeDef* attribute = find_attribute(op, keyword);
    if (attribute) planned.parts.push_back({part, false, attribute});
    return attribute != nullptr;
  });
  if (!slots) return {};
  const auto refuse = [&](DiagnosticKind kind, Span span, std::string message) {
    evaluator_.fail(kind, span, std::move(message));
    return PlannedCall{};
  };
  put_text_in_place(expression_, parameters, node, *slots);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const SignatureParameter& parameter = parameters[i];
    const Index slot = (*slots)[i];
    if (slot == kNone) {
      if (parameter.optional || (parameter.attribute && !parameter.attribute->required)) continue;
      return refuse(DiagnosticKind::type, node.span, "`" + signature + "` lacks `" + parameter.name + "`");
    }
    if (parameter.attribute && parameter.attribute->type == AttributeDef::Type::function) {
      return refuse(DiagnosticKind::unsupported, node.span,
                    "a function of the host is declared under `host_functions:` and called by its name");
    }
    const ExpressionNode& given = expression_.nodes[slot];
    const bool may_be_group = given.kind == NodeType::name || given.kind == NodeType::call;
    if (parameter.list && given.kind != NodeType::list && !may_be_group) return refuse_list(given, op);
    planned.parts.push_back({slot, parameter.list, parameter.attribute});
  }
  planned.kind = PlannedCall::Kind::op;
  planned.callee = node.text;
  planned.op = &op;
  return planned;
}

PlannedCall Evaluation::refuse_list(const ExpressionNode& given, const OpDef& op) {
  for (const SignatureParameter& parameter : parameters_of(op)) {
    if (!parameter.list) continue;
    evaluator_.fail(DiagnosticKind::type, given.span,
                    "`" + std::string(op.signature) + "` takes a list `[a, b]` as `" + parameter.name + "`");
  }
  return {};
}

PlannedCall Evaluation::plan_names(const ExpressionNode& node, const std::vector<Parameter>& takes, const TakeKeyword& elsewhere) {
  std::string signature = node.text + "(";
  std::vector<std::string> names;
  for (const Parameter& parameter : takes) {
    signature += (names.empty() ? "" : ", ") + parameter.name.text + (parameter.otherwise ? "=" + spelled(*parameter.otherwise) : "");
    names.push_back(parameter.name.text);
  }
  signature += ")";
  const auto slots = place_arguments(node, signature, names, elsewhere);
  if (!slots) return {};
  PlannedCall planned;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if ((*slots)[i] == kNone && takes[i].otherwise) {
      planned.parts.push_back({kNone, false, nullptr, takes[i].otherwise});
      continue;
    }
    if ((*slots)[i] == kNone) {
      evaluator_.fail(DiagnosticKind::type, node.span, "`" + signature + "` lacks `" + names[i] + "`");
      return {};
    }
    planned.parts.push_back({(*slots)[i], false, nullptr});
  }
  planned.kind = PlannedCall::Kind::function;
  planned.callee = node.text;
  return planned;
}

PlannedCall Evaluation::plan_host_function(const ExpressionNode& node, const std::shared_ptr<const HostFunction>& function) {
  PlannedCall planned;
  const std::size_t wanted = function->takes.size();
  if (node.parts.size() != wanted) {
    evaluator_.fail(DiagnosticKind::type, node.span,
                    "`" + node.text + "` takes " + std::to_string(wanted) + (wanted == 1 ? " argument, not " : " arguments, not ") +
                        std::to_string(node.parts.size()));
    return planned;
  }
  for (std::size_t i = 0; i < wanted; ++i) {
    if (!node.keywords[i].text.empty()) {
      evaluator_.fail(DiagnosticKind::unknown, node.keywords[i].span, "the arguments of a host function have no names");
      return planned;
    }
    planned.parts.push_back({node.parts[i], false, nullptr});
  }
  planned.kind = PlannedCall::Kind::host_function;
  planned.callee = node.text;
  planned.host_function = function;
  return planned;
}

Arguments Evaluation::call(const ExpressionNode& node, const PlannedCall& planned) {
  if (planned.kind == PlannedCall::Kind::failed) return {Argument()};
  if (planned.kind == PlannedCall::Kind::gradient) return gradient(node, planned);
  return planned.each ? each(node, planned) : call_once(node, planned, [&](Index index) { return argument(index); });
}

Arguments Evaluation::call_once(const ExpressionNode& node, const PlannedCall& planned, const TakeArgument& take) {
  if (planned.kind == PlannedCall::Kind::function) {
    Arguments arguments;
    for (const PlannedCall::ArgumentPart& part : planned.parts)
      arguments.push_back(part.otherwise ? Argument{Operand(*part.otherwise), {}, {}} : take(part.index));
    return evaluator_.inliner->inline_call(planned.callee, arguments, node.span);
  }
  const SourceLocation location = evaluator_.location(node.span);
  Operands operands;
  Attributes attributes;
  bool wrong = false;
  for (const PlannedCall::ArgumentPart& part : planned.parts) {
    if (part.attribute) {
      auto value = attribute(planned.callee, *part.attribute, part.index);
      wrong = wrong || !value;
      if (value) attributes.set(std::string(part.attribute->name), *std::move(value));
    } else if (part.list && expression_.nodes[part.index].kind == NodeType::list) {
      for (const Index item : expression_.nodes[part.index].parts) operands.push_back(single(item));
    } else if (part.list) {
      const Argument group = argument(part.index);  // its members are the list
      operands.insert(operands.end(), group.operands.begin(), group.operands.end());
      if (!group.members && !group.operand.poisoned()) refuse_list(expression_.nodes[part.index], *planned.op);
      wrong = wrong || !group.members;
    } else {
      const Argument given = take(part.index);
      operands.push_back(given.members ? single(part.index) : given.operand);  // `single` reports a group
    }
  }
  if (wrong) return {Argument()};
  const auto results = [&](const OpDef& op) {
    Arguments given;
    for (Operand& result : evaluator_.tracer.apply(op, operands, std::move(attributes), location))
      given.push_back({std::move(result), {}, {}});
    return given;
  };
  if (planned.kind == PlannedCall::Kind::op) return results(*planned.op);
  if (planned.kind == PlannedCall::Kind::model) {
    const Argument weights = planned.weights ? take(*planned.weights) : Argument();
    return evaluator_.call_model(planned.callee, operands, planned.weights ? &weights : nullptr, node.span);
  }

  return evaluator_.call_host(planned.callee, operands, node.span);
}

Arguments Evaluator::call_host(const std::string& name, Operands operands, Span call) {
  const std::shared_ptr<const HostFunction>& function = host_functions.find(name)->second;
  const SourceLocation location = this->location(call);
  for (std::size_t i = 0; i < operands.size() && i < function->takes.size(); ++i) {
    const auto& literal = operands[i].literal;
    if (literal && fits(*literal, function->takes[i].dtype))
      operands[i] = tracer.materialize(operands[i], location, function->takes[i].dtype);
  }
  const auto single = [](const Operands& values) {
    Arguments arguments;
    for (const Operand& value : values) arguments.push_back({value, {}, {}});
    return arguments;
  };
  const Arguments results = single(tracer.apply(op::host_call, operands, {{"function", function}}, location));
  const auto gradient = host_gradients.find(name);
  return gradient == host_gradients.end() ? results : with_gradient(name, gradient->second, single(operands), results, call);
}

namespace {

Operands operands_of(const Arguments& arguments) {
  Operands operands;
  for (const Argument& argument : arguments) {
    if (argument.members)
      operands.insert(operands.end(), argument.operands.begin(), argument.operands.end());
    else
      operands.push_back(argument.operand);
  }
  return operands;
}

/// `like` with other operands, which `next` counts.
Arguments rebuilt(const Arguments& like, const Operands& operands, std::size_t& next) {
  Arguments arguments = like;
  for (Argument& argument : arguments) {
    if (!argument.members) argument.operand = operands[next++];
    for (Operand& member : argument.operands) member = operands[next++];
  }
  return arguments;
}

}  // namespace

Arguments Evaluator::with_gradient(const std::string& name, const GradientKey& key, const Arguments& arguments, const Arguments& results,
                                   Span place) {
  CustomGradient custom(tracer, name, operands_of(arguments), operands_of(results), location(place));
  const Operands given = custom.given(key.reads);
  Arguments parts;
  std::size_t next = 0;
  const auto add = [&](const Arguments& like) {
    const Arguments more = rebuilt(like, given, next);
    parts.insert(parts.end(), more.begin(), more.end());
  };
  if (key.reads.inputs) add(arguments);
  if (key.reads.results) add(results);
  add(results);  // the cotangents
  const std::string& rule = key.function.text;
  custom.end(operands_of(inliner && inliner->takes(rule) ? inliner->inline_call(rule, parts, place) : call_host(rule, given, place)));
  next = 0;
  return rebuilt(results, custom.results(), next);
}

std::optional<AttributeValue> Evaluation::attribute(const std::string& callee, const AttributeDef& definition, Index index) {
  const ExpressionNode& node = expression_.nodes[index];
  const std::string what = "`" + std::string(definition.name) + "` of `" + callee + "`";
  using Type = AttributeDef::Type;
  if (definition.type == Type::dtype) {
    const auto dtype = node.kind == NodeType::name || node.kind == NodeType::text ? parse_dtype(node.text) : std::nullopt;
    if (dtype) return *dtype;
    const Binding* value = node.kind == NodeType::name ? evaluator_.scopes.find(node.text) : nullptr;
    if (value && !value->operand.literal) {  // the type of a value
      const TensorType* type = evaluator_.tracer.type(value->operand);
      return type ? std::optional<AttributeValue>(type->dtype) : std::nullopt;  // unknown after a mistake, which was reported
    }
    evaluator_.fail(DiagnosticKind::unknown, node.span, what + " is an element type such as `f32`" + evaluator_.meant_dtype(node.text));
    return std::nullopt;
  }
  if (node.kind == NodeType::text && (definition.type == Type::text || definition.type == Type::any)) return node.text;
  if (node.kind == NodeType::text || definition.type == Type::text) {
    const std::string wanted = definition.type == Type::text ? " is a text in quotes" : " is no text";
    evaluator_.fail(DiagnosticKind::type, node.span, what + wanted);
    return std::nullopt;
  }
  const auto list = literals(index, what);
  if (!list) return std::nullopt;
  const auto dtype = common_dtype(list->values);
  std::string wrong;
  if (list->shape.empty() && definition.type != Type::array) {
    const Literal& literal = list->values.front();
    if (literal.type == Literal::Type::boolean) return literal.integer != 0;
    if (literal.type == Literal::Type::integer) return literal.integer;
    return literal.floating;
  }
  if (dtype && definition.type == Type::array) return to_array(*list, *dtype, &wrong);
  const bool flat = list->shape.size() == 1;
  const bool integers = !dtype || list->values.empty() || *dtype == DType::i32 || *dtype == DType::i64;
  if (!flat || !dtype || *dtype == DType::boolean) {
    evaluator_.fail(DiagnosticKind::type, node.span, what + " is a plain list of numbers");
    return std::nullopt;
  }
  if (!integers) {
    std::vector<double> numbers;
    for (const Literal& literal : list->values) numbers.push_back(to_double(literal));
    return numbers;
  }
  std::vector<std::int64_t> numbers;
  for (const Literal& literal : list->values) numbers.push_back(literal.integer);
  return numbers;
}

}  // namespace cleave::models
