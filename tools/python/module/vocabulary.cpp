// Lists the callable functions; tools/python/write_functions.py writes the module's Python functions from the list.
#include <nanobind/stl/string.h>

#include <set>

#include "graph/op.h"
#include "tools/python/module/module.h"

namespace cleave::python {
namespace {

using Type = AttributeDef::Type;

const char* type_name(Type type) {
  switch (type) {
    case Type::boolean: return "boolean";
    case Type::integer: return "integer";
    case Type::number: return "number";
    case Type::text: return "text";
    case Type::integers: return "integers";
    case Type::numbers: return "numbers";
    case Type::dtype: return "dtype";
    case Type::shape: return "shape";
    case Type::array: return "array";
    case Type::types: return "types";
    case Type::function: return "function";
    case Type::any: break;
  }
  return "any";
}

template <class T>
std::string list_text(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

/// A default value as a Python expression.
std::string text_of(const AttributeValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "True" : "False";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) return nb::cast<std::string>(nb::repr(nb::float_(*number)));
  if (const auto* text = std::get_if<std::string>(&value)) return "\"" + *text + "\"";
  if (const auto* dtype = std::get_if<DType>(&value)) return "\"" + std::string(to_string(*dtype)) + "\"";
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) return list_text(*integers);
  if (const auto* numbers = std::get_if<std::vector<double>>(&value)) return list_text(*numbers);
  return "";
}

/// Sets an attribute to a value with which some call of the op may be valid.
void put_sample(Attributes& attributes, const AttributeDef& definition, std::int64_t rank, std::int64_t number) {
  switch (definition.type) {
    case Type::boolean: return attributes.set(std::string(definition.name), false);
    case Type::number: return attributes.set(std::string(definition.name), 1.0);
    case Type::integers:
      return attributes.set(std::string(definition.name), std::vector<std::int64_t>(static_cast<std::size_t>(rank), number));
    case Type::numbers: return attributes.set(std::string(definition.name), std::vector<double>{1.0});
    case Type::dtype: return attributes.set(std::string(definition.name), DType::f32);
    case Type::shape: return attributes.set(std::string(definition.name), std::vector<std::int64_t>{4});
    default: return attributes.set(std::string(definition.name), number);
  }
}

using Counts = std::set<std::size_t>;

/// Tries one call, and records the number of its results if it is valid.
void try_call(const OpDef& op, const std::vector<TensorType>& types, std::int64_t number, Counts& counts) {
  Attributes attributes;
  const std::int64_t rank = types.empty() ? 1 : types.front().rank();
  for (const AttributeDef& definition : op.attributes)
    if (definition.required) put_sample(attributes, definition, rank, number);
  if (normalize_call(op, types.size(), attributes)) return;
  const TypeResult ruled = op.type_rule(types, attributes);
  if (const auto* results = std::get_if<std::vector<TensorType>>(&ruled)) counts.insert(results->size());
}

/// Tries operands of one type.
void try_equal_types(const OpDef& op, Counts& counts) {
  const Shape shapes[] = {{}, {4}, {4, 4}, {6, 6}, {2, 4, 4}, {1, 4, 8, 8}};
  const int most = op.max_inputs < 0 ? op.min_inputs + 2 : op.max_inputs;
  for (const Shape& shape : shapes)
    for (const DType dtype : {DType::f32, DType::i32, DType::boolean, DType::u8})
      for (int inputs = op.min_inputs; inputs <= most; ++inputs)
        for (const std::int64_t number : {1, 2})
          try_call(op, std::vector<TensorType>(static_cast<std::size_t>(inputs), TensorType{dtype, shape}), number, counts);
}

/// Tries operands of different types: all combinations of a few, including those of recurrent networks.
void try_different_types(const OpDef& op, Counts& counts) {
  std::vector<TensorType> choices;
  for (const Shape& shape :
       {Shape{4}, Shape{3, 3}, Shape{4, 4}, Shape{4, 16}, Shape{4, 12}, Shape{4, 4, 4}, Shape{1, 4, 4}, Shape{1, 12, 4}, Shape{1, 16, 4}})
    for (const DType dtype : {DType::f32, DType::i32}) choices.push_back({dtype, shape});
  const auto inputs = static_cast<std::size_t>(op.min_inputs);
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < inputs; ++i) combinations *= choices.size();
  for (std::size_t combination = 0; combination < combinations && counts.empty(); ++combination) {
    std::vector<TensorType> types;
    for (std::size_t i = 0, rest = combination; i < inputs; ++i, rest /= choices.size()) types.push_back(choices[rest % choices.size()]);
    try_call(op, types, 1, counts);
  }
}

/// The possible numbers of results, found by trying calls; empty if no call was valid.
Counts result_counts(const OpDef& op) {
  if (op.purity == Purity::effect) return {0};
  Counts counts;
  try_equal_types(op, counts);
  if (counts.empty() && op.min_inputs <= 3) try_different_types(op, counts);
  return counts;
}

nb::dict described(const OpDef& op) {
  nb::dict result;
  result["name"] = std::string(op.name);
  result["signature"] = std::string(op.signature);
  result["summary"] = std::string(op.summary);
  nb::list attributes;
  for (const AttributeDef& definition : op.attributes)
    attributes.append(nb::make_tuple(std::string(definition.name), std::string(type_name(definition.type)),
                                     definition.fallback ? text_of(to_value(*definition.fallback)) : std::string(), definition.required));
  result["attributes"] = attributes;
  nb::list counts;
  for (const std::size_t count : result_counts(op)) counts.append(count);
  result["results"] = counts;
  return result;
}

}  // namespace

void bind_vocabulary(nb::module_& module) {
  module.def(
      "vocabulary",
      [] {
        nb::typed<nb::list, AnyDict> result;
        for (const OpDef* op : all_functions()) result.append(described(*op));
        return result;
      },
      "Every function that a program can call: name, signature, summary, attributes, numbers of results.");
}

}  // namespace cleave::python
