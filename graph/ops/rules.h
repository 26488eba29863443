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
#include "graph/vocabulary.h"

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

constexpr AttributeDef required(std::string_view name, AttributeDef::Type type) {
  return {name, type, std::nullopt, true};
}
constexpr AttributeDef optional(std::string_view name, AttributeDef::Type type) {
  return {name, type, std::nullopt, false};
}
constexpr AttributeDef with_default(std::string_view name, AttributeDef::Type type, AttributeDefault fallback) {
  return {name, type, fallback, false};
}

inline constexpr AttributeDef kFirstAxis = with_default("axis", AttributeDef::Type::integer, std::int64_t{0});
inline constexpr AttributeDef kLastAxis = with_default("axis", AttributeDef::Type::integer, std::int64_t{-1});
inline constexpr AttributeDef kAxesOrAll = optional("axis", AttributeDef::Type::integers);
inline constexpr AttributeDef kKeepdims = with_default("keepdims", AttributeDef::Type::boolean, false);

/// Builds a record. The constructor takes the fields of every record; a function each sets those that only some records have.
///
///   constexpr OpDef op::det = Record("det(x)", 1, {}, "determinant …", det_type, det_cost, det_reference).of_class(CostClass::product);
class Record {
 public:
  /// A pure op that takes exactly `operands`; its name is the part of the signature before the parenthesis.
  constexpr Record(std::string_view signature, int operands, AttributeDefs attributes, std::string_view summary,
                   decltype(OpDef::type_rule) type_rule, decltype(OpDef::cost) cost, decltype(OpDef::reference) reference) {
    op_.name = signature.substr(0, signature.find('('));
    op_.min_inputs = op_.max_inputs = operands;
    op_.attributes = attributes;
    op_.signature = signature;
    op_.summary = summary;
    op_.type_rule = type_rule;
    op_.cost = cost;
    op_.reference = reference;
  }
  /// A composite function that takes exactly `operands`.
  constexpr Record(std::string_view signature, int operands, AttributeDefs attributes, std::string_view summary,
                   decltype(OpDef::type_rule) type_rule, decltype(OpDef::expand) expand)
      : Record(signature, operands, attributes, summary, type_rule, nullptr, nullptr) {
    op_.expand = expand;
  }
  constexpr operator OpDef() const { return op_; }

  constexpr Record operands(int least, int most) const {  ///< `most` -1: any number
    Record changed = *this;
    changed.op_.min_inputs = least;
    changed.op_.max_inputs = most;
    return changed;
  }
  constexpr Record promoting(Promotion promotion, int from = 0) const {
    Record changed = *this;
    changed.op_.promotion = promotion;
    changed.op_.promote_from = from;
    return changed;
  }
  constexpr Record of_class(CostClass cost_class, decltype(OpDef::form) form = nullptr) const {
    Record changed = *this;
    changed.op_.cost_class = cost_class;
    changed.op_.form = form;
    return changed;
  }
  constexpr Record may_fail() const {
    Record changed = *this;
    changed.op_.may_fail = true;
    return changed;
  }
  constexpr Record keeps_bytes() const {
    Record changed = *this;
    changed.op_.keeps_bytes = true;
    return changed;
  }
  constexpr Record moves_to(Side side) const {
    Record changed = *this;
    changed.op_.moves_to = side;
    return changed;
  }
  constexpr Record scalar(std::string_view text, std::string_view on_integers) const {
    Record changed = *this;
    changed.op_.scalar = text;
    changed.op_.scalar_integer = on_integers;
    return changed;
  }
  constexpr Record differentiated(GradientRule rule) const {
    Record changed = *this;
    changed.op_.gradient = rule;
    return changed;
  }
  constexpr Record with_lengths(decltype(OpDef::length_rule) rule) const {
    Record changed = *this;
    changed.op_.length_rule = rule;
    return changed;
  }
  constexpr Record also_called(std::string_view names) const {
    Record changed = *this;
    changed.op_.also_called = names;
    return changed;
  }

 private:
  OpDef op_;
};

/// Cost: the bytes of all operands and results, each once.
double traffic(Types inputs, Types results);
/// Cost: one flop per element of the largest operand or result, plus `traffic`.
Cost linear_cost(Types inputs, Types results, const Attributes& attributes);
/// Cost: no arithmetic.
Cost copy_cost(Types inputs, Types results, const Attributes& attributes);

}  // namespace cleave::ops
