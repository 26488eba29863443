// Calls one op as a program would: checks and completes attributes, applies the type rule, allocates results, runs the reference
// implementation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

/// The results by the op's reference implementation, or the error of its rules or of that implementation. Printed lines go to `printed`.
Result<std::vector<Array>> call_op(const OpDef& op, const std::vector<Array>& inputs, Attributes attributes = {},
                                   std::vector<std::string>* printed = nullptr);
/// The first result of a call that must succeed (else the program ends with the reason).
Array call_op(std::string_view name, const std::vector<Array>& inputs, const Attributes& attributes = {});

/// The result types by the op's rules.
TypeResult infer(const OpDef& op, const std::vector<TensorType>& inputs, Attributes attributes = {});
/// Why `name` refuses operands of the types written; empty if it does not.
std::string refusal(std::string_view name, const std::vector<std::string>& inputs, const Attributes& attributes = {});

std::vector<TensorType> types_of(const std::vector<Array>& arrays);
/// All elements, as doubles.
std::vector<double> elements(const Array& array);

}  // namespace cleave::testing
