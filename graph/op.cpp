// normalize_call: the checks that every op shares, made before its own rules: the number of operands, and names and kinds of attributes.
#include "graph/op.h"

#include <algorithm>

#include "graph/base/spelling.h"

namespace cleave {
namespace {

using Type = AttributeDef::Type;

std::string_view describe(Type type) {
  switch (type) {
    case Type::boolean: return "true or false";
    case Type::integer: return "an integer";
    case Type::number: return "a number";
    case Type::text: return "a text";
    case Type::integers: return "an integer or a list of integers";
    case Type::numbers: return "a list of numbers";
    case Type::dtype: return "an element type";
    case Type::shape: return "a shape";
    case Type::array: return "an array";
    case Type::types: return "tensor types";
    case Type::function: return "a host function";
    case Type::any: break;
  }
  return "a value";
}

/// The value converted to the form of `type`, or nothing if it is of another kind.
std::optional<AttributeValue> in_form(Type type, const AttributeValue& value) {
  using Integers = std::vector<std::int64_t>;
  using Numbers = std::vector<double>;
  const auto* integer = std::get_if<std::int64_t>(&value);
  const auto* integers = std::get_if<Integers>(&value);
  const auto keep_if = [&](bool fits) { return fits ? std::optional(value) : std::nullopt; };
  switch (type) {
    case Type::boolean: return keep_if(std::holds_alternative<bool>(value));
    case Type::integer: return keep_if(integer != nullptr);
    case Type::number:
      if (integer) return static_cast<double>(*integer);
      return keep_if(std::holds_alternative<double>(value));
    case Type::text: return keep_if(std::holds_alternative<std::string>(value));
    case Type::integers:
    case Type::shape:
      if (integer) return Integers{*integer};
      if (const auto* numbers = std::get_if<Numbers>(&value); numbers && numbers->empty()) return Integers{};
      return keep_if(integers != nullptr);
    case Type::numbers:
      if (integers) return Numbers(integers->begin(), integers->end());
      return keep_if(std::holds_alternative<Numbers>(value));
    case Type::dtype: return keep_if(std::holds_alternative<DType>(value));
    case Type::array: return keep_if(std::holds_alternative<Array>(value));
    case Type::types: return keep_if(std::holds_alternative<std::vector<TensorType>>(value));
    case Type::function: {
      const auto* function = std::get_if<std::shared_ptr<const HostFunction>>(&value);
      return keep_if(function && *function);
    }
    case Type::any: break;
  }
  return value;
}

std::string arity_text(const OpDef& op) {
  const auto operands = [](int n) { return std::to_string(n) + (n == 1 ? " operand" : " operands"); };
  if (op.max_inputs < 0) return "at least " + operands(op.min_inputs);
  if (op.min_inputs == op.max_inputs) return operands(op.min_inputs);
  return std::to_string(op.min_inputs) + " to " + operands(op.max_inputs);
}

TypeError unknown_attribute(const OpDef& op, const std::string& name) {
  std::vector<std::string> names;
  for (const AttributeDef& def : op.attributes) names.emplace_back(def.name);
  return {DiagnosticKind::unknown, "`" + std::string(op.name) + "` has no attribute `" + name + "`" + did_you_mean(name, names)};
}

}  // namespace

AttributeValue to_value(const AttributeDefault& constant) {
  return std::visit(
      [](const auto& value) -> AttributeValue {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string_view>) {
          return std::string(value);
        } else if constexpr (std::is_same_v<T, OneInteger>) {
          return std::vector<std::int64_t>{value.value};
        } else if constexpr (std::is_same_v<T, NoIntegers>) {
          return std::vector<std::int64_t>();
        } else {
          return value;
        }
      },
      constant);
}

std::optional<TypeError> normalize_call(const OpDef& op, std::size_t input_count, Attributes& attributes) {
  const auto count = static_cast<std::int64_t>(input_count);
  if (count < op.min_inputs || (op.max_inputs >= 0 && count > op.max_inputs)) {
    return TypeError{DiagnosticKind::type, "`" + std::string(op.name) + "` takes " + arity_text(op) + ", not " + std::to_string(count)};
  }
  for (const auto& [name, value] : attributes) {
    const auto has_name = [&name = name](const AttributeDef& def) { return def.name == name; };
    if (std::none_of(op.attributes.begin(), op.attributes.end(), has_name)) return unknown_attribute(op, name);
  }
  for (const AttributeDef& def : op.attributes) {
    if (const AttributeValue* value = attributes.find(def.name)) {
      std::optional<AttributeValue> formed = in_form(def.type, *value);
      if (!formed)
        return TypeError{DiagnosticKind::type,
                         "`" + std::string(def.name) + "` of `" + std::string(op.name) + "` must be " + std::string(describe(def.type))};
      attributes.set(std::string(def.name), *std::move(formed));
    } else if (def.required) {
      return TypeError{DiagnosticKind::value, "`" + std::string(op.name) + "` needs the attribute `" + std::string(def.name) + "`"};
    } else if (def.fallback) {
      attributes.set(std::string(def.name), to_value(*def.fallback));
    }
  }
  return std::nullopt;
}

}  // namespace cleave
