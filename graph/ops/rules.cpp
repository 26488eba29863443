#include "graph/ops/rules.h"

#include <algorithm>

namespace cleave::ops {

TypeError refuse(DiagnosticKind kind, std::string_view op, Types inputs, std::string_view reason) {
  std::string message = "`" + std::string(op) + "`";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    message += i == 0 ? " of " : i + 1 == inputs.size() ? " and " : ", ";
    if (i == 3 && inputs.size() > 5) {  // `concat` may have many operands
      message += std::to_string(inputs.size() - 3) + " more";
      break;
    }
    message += to_string(inputs[i]);
  }
  return {kind, message + ": " + std::string(reason)};
}

TypeResult give(std::string_view op, Types inputs, std::vector<TensorType> results) {
  for (const TensorType& result : results) {
    if (result.rank() > kMaxRank) return refuse(DiagnosticKind::shape, op, inputs, "the result would have more than 32 axes");
    if (std::any_of(result.shape.begin(), result.shape.end(), [](std::int64_t extent) { return extent < 0; })) {
      return refuse(DiagnosticKind::shape, op, inputs, "the result " + to_string(result) + " would have a negative extent");
    }
    if (!checked_bytes(result)) return refuse(DiagnosticKind::shape, op, inputs, "the result " + to_string(result) + " would be too large");
  }
  return results;
}

TypeResult give(std::string_view op, Types inputs, TensorType result) {
  return give(op, inputs, std::vector<TensorType>{std::move(result)});
}

std::optional<int> find_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

TypeError no_axis(std::string_view op, Types inputs, std::int64_t axis, int rank) {
  const std::string axes = rank == 0 ? "no axes" : rank == 1 ? "one axis" : std::to_string(rank) + " axes";
  return refuse(DiagnosticKind::shape, op, inputs, "there is no axis " + std::to_string(axis) + " among " + axes);
}

std::variant<AxisMarks, TypeError> find_axes(std::string_view op, Types inputs, const Attributes& attributes, int rank) {
  const auto* axes = attributes.get_if<Integers>("axis");
  AxisMarks marked;
  if (!axes) return marked.set();
  for (const std::int64_t axis : *axes) {
    const auto found = find_axis(axis, rank);
    if (!found) return no_axis(op, inputs, axis, rank);
    if (marked[*found]) return refuse(DiagnosticKind::value, op, inputs, "axis " + std::to_string(axis) + " is named twice");
    marked[*found] = true;
  }
  return marked;
}

AxisMarks marked_axes(const Attributes& attributes, int rank) {
  const auto marked = find_axes({}, {}, attributes, rank);
  CLEAVE_CHECK(marked.index() == 0, "the type rule was not asked");
  return std::get<0>(marked);
}

Shape reduced_shape(const Shape& shape, const AxisMarks& marked, bool keepdims) {
  Shape result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!marked[axis]) result.push_back(shape[axis]);
    if (marked[axis] && keepdims) result.push_back(1);
  }
  return result;
}

double traffic(Types inputs, Types results) {
  double bytes = 0;
  for (const TensorType& type : inputs) bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : results) bytes += static_cast<double>(type.bytes());
  return bytes;
}

Cost linear_cost(Types inputs, Types results, const Attributes&) {
  std::int64_t most = 0;
  for (const TensorType& type : inputs) most = std::max(most, type.elements());
  for (const TensorType& type : results) most = std::max(most, type.elements());
  return {static_cast<double>(most), traffic(inputs, results)};
}

Cost copy_cost(Types inputs, Types results, const Attributes&) {
  return {0, traffic(inputs, results)};
}

}  // namespace cleave::ops
