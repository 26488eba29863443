// Helpers of type and cost rules: messages, axes, attributes, size checks.
#pragma once

#include <algorithm>
#include <bitset>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace cleave::ops {

inline constexpr int kMaxRank = 32;

/// An op's name as a template argument, so that a rule shared by several ops names the right one in its messages.
template <std::size_t size>
struct Name {
  char text[size];
  constexpr Name(const char (&chars)[size]) { std::copy_n(chars, size, text); }
  [[nodiscard]] constexpr std::string_view view() const { return {text, size - 1}; }
};

using Types = std::span<const TensorType>;

/// "`matmul` of f32[4, 2] and f32[3, 1]: reason"
TypeError refuse(DiagnosticKind kind, std::string_view op, Types inputs, std::string_view reason);
/// The result type, or an error if it has too many axes or bytes.
TypeResult give(std::string_view op, Types inputs, std::vector<TensorType> results);
TypeResult give(std::string_view op, Types inputs, TensorType result);

/// `axis` counted from the front, or nothing if there is no such axis.
std::optional<int> find_axis(std::int64_t axis, int rank);
/// "axis 3 of 2 axes does not exist"
TypeError no_axis(std::string_view op, Types inputs, std::int64_t axis, int rank);
using AxisMarks = std::bitset<kMaxRank>;  ///< one bit per axis, from the front
/// Marks the axes; an Error for one that does not exist or is named twice. Absent attribute: all.
std::variant<AxisMarks, TypeError> find_axes(std::string_view op, Types inputs, const Attributes& attributes, int rank);
/// The marks of a call that passed find_axes.
AxisMarks marked_axes(const Attributes& attributes, int rank);

/// The shape without the marked axes, or with extent 1 in their place.
Shape reduced_shape(const Shape& shape, const AxisMarks& marked, bool keepdims);

using Integers = std::vector<std::int64_t>;

AttributeDef required(std::string name, AttributeDef::Type type);
AttributeDef optional(std::string name, AttributeDef::Type type);
AttributeDef with_default(std::string name, AttributeDef::Type type, AttributeValue fallback);

/// The record of a pure op that takes exactly `operands`; its name is the part of the signature before the parenthesis.
OpDef op_record(std::string signature, int operands, std::vector<AttributeDef> attributes, std::string summary,
                decltype(OpDef::type_rule) type_rule, decltype(OpDef::cost) cost, decltype(OpDef::meaning) meaning);
/// The record of a composite function with exactly `operands`.
OpDef composite_record(std::string signature, int operands, std::vector<AttributeDef> attributes, std::string summary,
                       decltype(OpDef::type_rule) type_rule, decltype(OpDef::expand) expand);
/// Sets the cost class of each record.
std::vector<OpDef> of_class(CostClass of, std::vector<OpDef> ops, decltype(OpDef::form) form = nullptr);

/// Cost: the bytes of all operands and results, each once.
double traffic(Types inputs, Types results);
/// Cost: one flop per element of the largest operand or result, plus `traffic`.
Cost linear_cost(Types inputs, Types results, const Attributes& attributes);
/// Cost: no arithmetic.
Cost copy_cost(Types inputs, Types results, const Attributes& attributes);

}  // namespace cleave::ops
