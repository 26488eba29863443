#include "tests/support/op_call.h"
#include "tests/support/namespaces.h"

#include <cstdio>
#include <cstdlib>

namespace cleave::testing {

std::vector<TensorType> types_of(const std::vector<Array>& arrays) {
  std::vector<TensorType> types;
  for (const Array& array : arrays) types.push_back(array.type());
  return types;
}

std::vector<double> elements(const Array& array) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < array.size(); ++i) values.push_back(array.at(i));
  return values;
}

TypeResult infer(const OpDef& op, const std::vector<TensorType>& inputs, Attributes attributes) {
  if (auto error = normalize_call(op, inputs.size(), attributes)) return *std::move(error);
  return op.type_rule(inputs, attributes);
}

Result<std::vector<Array>> call_op(const OpDef& op, const std::vector<Array>& inputs, Attributes attributes,
                                   std::vector<std::string>* printed) {
  if (auto error = normalize_call(op, inputs.size(), attributes)) return Error{error->message};
  auto types = op.type_rule(types_of(inputs), attributes);
  if (const auto* error = std::get_if<TypeError>(&types)) return Error{error->message};
  std::vector<Array> results;
  for (const TensorType& type : std::get<0>(types)) results.emplace_back(type);
  const OpContext context{[printed](std::string_view line) {
    if (printed) printed->emplace_back(line);
  }};
  const Status status = op.reference({attributes, inputs, results, context});
  CLEAVE_CHECK(status.ok() || op.may_fail || op.purity_for(attributes) == Purity::effect || attributes.find("function"),
               "an op that fails for some data does not say so (may_fail)");
  if (!status.ok()) return status.error();
  return results;
}

Array call_op(std::string_view name, const std::vector<Array>& inputs, const Attributes& attributes) {
  const OpDef* op = find_op(name);
  CLEAVE_CHECK(op, "no such op");
  auto results = call_op(*op, inputs, attributes);
  if (!results.ok()) {
    std::fprintf(stderr, "%s\n", results.error().message.c_str());
    std::abort();
  }
  return results->at(0);
}

std::string refusal(std::string_view name, const std::vector<std::string>& inputs, const Attributes& attributes) {
  const OpDef* op = find_op(name);
  CLEAVE_CHECK(op, "no such op");
  std::vector<TensorType> types;
  for (const std::string& text : inputs) {
    const auto type = parse_tensor_type(text);
    CLEAVE_CHECK(type.has_value(), "no tensor type");
    types.push_back(*type);
  }
  const auto result = infer(*op, types, attributes);
  const auto* error = std::get_if<TypeError>(&result);
  return error ? error->message : "";
}

}  // namespace cleave::testing
