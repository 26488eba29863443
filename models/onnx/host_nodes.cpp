// GraphReader: nodes that host functions compute: those that the user gives (--host-function), and opaque ones for plans (--assume-host).
#include "models/onnx/call.h"
#include "models/onnx/graph_reader.h"

namespace cleave::models::onnx {
namespace {

constexpr Lowering kByHost{"", 1, nullptr};

template <class T>
Array vector_of(const std::vector<T>& values) {
  return Array::of<T>({static_cast<std::int64_t>(values.size())}, std::span<const T>(values));
}
Array bytes_of(const std::vector<std::string>& texts, bool ended) {
  std::vector<std::uint8_t> bytes;
  for (const std::string& text : texts) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    if (ended) bytes.push_back(0);
  }
  return vector_of(bytes);
}

/// An attribute as a function of a library gets it.
Array as_operand(const OperatorNode::Attribute& attribute) {
  struct Visitor {
    Array operator()(std::int64_t value) const { return Array::scalar(value); }
    Array operator()(double value) const { return Array::scalar(static_cast<float>(value)); }
    Array operator()(const std::string& value) const { return bytes_of({value}, false); }
    Array operator()(const std::vector<std::int64_t>& values) const { return vector_of(values); }
    Array operator()(const std::vector<double>& values) const { return vector_of(std::vector<float>(values.begin(), values.end())); }
    Array operator()(const std::vector<std::string>& values) const { return bytes_of(values, true); }
    Array operator()(const Array& value) const { return value; }
  };
  return std::visit(Visitor(), attribute);
}

}  // namespace

Values GraphReader::call_host(HostFunction function, const NodeProto& node, const std::vector<Operand>& inputs,
                              const SourceLocation& location) {
  function.takes.clear();
  for (const Operand& input : inputs) function.takes.push_back(Part(tracer_, input).type());
  Attributes attributes;
  attributes.set("function", std::make_shared<const HostFunction>(std::move(function)));
  const OpDef* call = find_op("host_call");
  CLEAVE_CHECK(call != nullptr);
  const std::vector<Operand> given = tracer_.apply(*call, inputs, std::move(attributes), location);
  Values results(node.outputs.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!node.outputs[i].empty() && next < given.size()) results[i] = Part(tracer_, given[next++]);
  return results;
}

Values GraphReader::assumed(const NodeProto& node, const std::string& op, const Values& operands, const SourceLocation& location) {
  HostFunction function;
  function.name = op;
  function.pure = true;
  std::vector<Operand> inputs;
  for (const Value& operand : operands)
    if (!operand.poisoned() && !operand.sequence && !operand.absent) inputs.push_back(operand.part.operand());
  for (const std::string_view name : node.outputs) {
    if (name.empty()) continue;
    const std::optional<TensorType> type = stated_type(name);
    if (!type) {
      error(DiagnosticKind::unsupported, location,
            "--assume-host " + op + ": the file does not state the whole type of `" + std::string(name) + "`");
      return Values(node.outputs.size());
    }
    function.returns.push_back(*type);
  }
  return call_host(std::move(function), node, inputs, location);
}

Values GraphReader::by_host_function(const OperatorFunction& given, const NodeProto& node, const std::string& op, const Values& operands,
                                     const SourceLocation& location, Environment& names) {
  host_functions_used_.insert(op);
  Call call(*this, names, node, kByHost, location, 0, operands);
  std::optional<OperatorNode> described = describe(call, op, operands);
  if (!described) return call.poison();
  Result<HostFunction> function = given(*described);
  if (!function) return call.mistake(DiagnosticKind::value, "the host function of `" + op + "`: " + function.error().message);
  if (!function->returns.empty() && function->returns.size() != described->results.size())
    return call.mistake(DiagnosticKind::type,
                        "the host function of `" + op + "` gives " + std::to_string(function->returns.size()) +
                            (function->returns.size() == 1 ? " result, and the node has " : " results, and the node has ") +
                            std::to_string(described->results.size()));
  if (function->returns.empty()) {
    std::size_t next = 0;
    for (const std::string_view name : node.outputs) {
      if (name.empty()) continue;
      const std::optional<TensorType>& stated = described->results[next++];
      if (!stated)
        return call.mistake(DiagnosticKind::unsupported,
                            "the file does not state the whole type of `" + std::string(name) + "`; state it for the host function of `" +
                                op + "`: --host-function " + op +
                                "=LIBRARY:SYMBOL:TYPE, or above a function in Python @cleave.host_function(TYPE)");
      function->returns.push_back(*stated);
    }
  }
  std::vector<Operand> inputs;
  const bool in_library = !function->library.empty();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!node.inputs[i].empty() && !operands[i].poisoned())
      inputs.push_back(operands[i].part.operand());
    else if (in_library)
      inputs.push_back(call.constant(Array(TensorType{DType::f32, {0}})).operand());
  }
  if (in_library)
    for (const auto& [name, attribute] : described->attributes) inputs.push_back(call.constant(as_operand(attribute)).operand());
  std::string takes, given_types;
  for (const TensorType& type : function->takes) takes += (takes.empty() ? "" : ", ") + to_string(type);
  for (const Operand& input : inputs) given_types += (given_types.empty() ? "" : ", ") + to_string(Part(tracer_, input).type());
  if (!function->takes.empty() && takes != given_types)
    return call.mistake(DiagnosticKind::type,
                        "the host function `" + function->name + "` of `" + op + "` takes " + takes + ", and the node has " + given_types);
  return call_host(*std::move(function), node, inputs, location);
}

/// The node for a function that computes it; nothing after a mistake.
std::optional<OperatorNode> GraphReader::describe(Call& call, const std::string& op, const Values& operands) {
  const NodeProto& node = call.node();
  OperatorNode described{.op = op, .name = std::string(node.name), .sizes = sizes_};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Value& operand = operands[i];
    const std::string name = "`" + std::string(node.inputs[i]) + "`";
    if (operand.sequence || operand.absent) {
      call.mistake(DiagnosticKind::unsupported,
                   "a host function does not take the " + std::string(operand.sequence ? "sequence " : "empty optional ") + name);
      return std::nullopt;
    }
    if (!tracer_.lengths(operand.part.operand()).empty()) {
      call.mistake(DiagnosticKind::unsupported, "a host function needs to know how large " + name + " is, and that depends on data");
      return std::nullopt;
    }
    // Poison under a name is what a reported mistake left, or an input that the caller of a function left out.
    if (!node.inputs[i].empty() && operand.poisoned() && tracer_.has_errors()) return std::nullopt;
    described.inputs.push_back(operand.poisoned() ? std::nullopt : std::optional(operand.part.type()));
  }
  for (const AttributeProto& attribute : node.attributes) {
    std::optional<OperatorNode::Attribute> value = call.any(attribute.name);
    if (!value && call.has_attribute(attribute.name)) {
      call.mistake(DiagnosticKind::unsupported, "a host function does not take the attribute `" + std::string(attribute.name) + "` of `" +
                                                    op + "`: it is no number, text, tensor or list of these");
      return std::nullopt;
    }
    if (value) described.attributes.emplace(attribute.name, *std::move(value));
  }
  for (const std::string_view name : node.outputs)
    if (!name.empty()) described.results.push_back(stated_type(name));
  return described;
}

}  // namespace cleave::models::onnx
