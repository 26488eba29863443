// Verify mode: the implementation: the tolerances of products in reduced precision and of fused groups, and the comparison.
#include "executor/check/verify_node.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "executor/check/compare.h"
#include "executor/check/equations.h"
#include "executor/check/error_bound.h"
#include "graph/base/boundary.h"
#include "graph/base/exceptions.h"
#include "graph/base/stop.h"

namespace cleave::runtime {
namespace {

Error differs(const Graph& graph, NodeId id, const std::string& what) {
  return at_node(graph, id,
                 Error{"`" + graph.display_name(id) + "` differs from its reference implementation: " + what, {}, ErrorKind::machine});
}

/// The largest magnitude among finite elements, or 1.
double largest_magnitude(const Array& array) {
  double result = 1;
  for (std::int64_t i = 0; i < array.size(); ++i) {
    const double magnitude = std::fabs(array.at(i));
    if (std::isfinite(magnitude)) result = std::max(result, magnitude);
  }
  return result;
}

/// The error allowed for each element of a product whose operands are rounded, or truncated, to the precision. The product of |a| and |b|
/// is the sum of all |a b|; the bound is that sum times the relative errors of the two operands. Nullopt in f32, and for nodes that are no
/// products.
Result<std::optional<Array>> rounding_of(const Graph& graph, const BoundAttributes& bound, NodeId id, std::span<const Array> inputs,
                                         const PrecisionOf& precision_of) {
  const Precision precision = precision_of ? precision_of(id) : Precision::f32;
  if (precision == Precision::f32) return std::optional<Array>();
  std::vector<Array> magnitudes;
  for (const Array& input : inputs) {
    Result<Array> array = Array::allocate(input.type());
    if (!array) return array.error();
    std::transform(input.data<float>(), input.data<float>() + input.size(), array->mutable_data<float>(),
                   [](float x) { return std::fabs(x); });
    magnitudes.push_back(*std::move(array));
  }
  Result<std::vector<Array>> sums = reference_results(graph, bound, id, magnitudes);
  if (!sums) return sums.error();
  const float each = precision == Precision::tf32 ? 0x1p-10F : 0x1p-7F;
  Array& slack = sums->front();
  for (std::int64_t i = 0; i < slack.size(); ++i) slack.mutable_data<float>()[i] *= (2 + each) * each;
  return std::optional(std::move(slack));
}

/// The error allowed for each element of the result in addition to the tolerance of its type: the op's error bound plus the effect of the
/// precision.
Result<std::optional<Array>> slack_of(const Graph& graph, const BoundAttributes& bound, NodeId id, std::span<const Array> inputs,
                                      const PrecisionOf& precision_of) {
  Result<std::optional<Array>> rounding = rounding_of(graph, bound, id, inputs, precision_of);
  if (!rounding) return rounding.error();
  std::optional<Array> error;
  const Status made = detail::guard_user("the reference", [&] {
    error = error_bound(*graph.nodes[id].op, attributes_of(graph, bound, id), inputs);
    return Status();
  });
  if (!made) return at_node(graph, id, made.error());
  if (!error) return rounding;
  for (std::int64_t i = 0; *rounding && i < error->size(); ++i) error->mutable_data<double>()[i] += (*rounding)->at(i);
  return error;
}

/// The error that an operation's `result` inherits from inexact operands: the sum of the errors of operands with as many
/// elements, since the operation (a bias, a relu) enlarges no error; unlimited if another operand has an element of unlimited error.
std::optional<Array> carried_on(const Array& result, const std::vector<const Array*>& slacks) {
  std::optional<Array> carried;
  for (const Array* slack : slacks) {
    const bool alike = slack->size() == result.size();
    const auto* end = slack->data<double>() + slack->size();
    const bool any = std::any_of(slack->data<double>(), end, [](double x) { return std::isinf(x); });
    if (!alike && !any) continue;
    if (!carried) carried = Array(TensorType{DType::f64, result.shape()});
    for (std::int64_t i = 0; i < result.size(); ++i)
      carried->mutable_data<double>()[i] += alike ? slack->data<double>()[i] : std::numeric_limits<double>::infinity();
  }
  return carried;
}

}  // namespace

Result<std::vector<Array>> reference_results(const Graph& graph, const BoundAttributes& bound, NodeId id, std::span<const Array> inputs,
                                             const CallLimits* limits) {
  const Node& node = graph.nodes[id];
  std::vector<Array> expected;
  for (const ValueId result : node.results) {
    Result<Array> array = Array::allocate(graph.values[result].type);
    if (!array) return at_node(graph, id, array.error());
    expected.push_back(std::move(*array));
  }
  const OpContext silent{[](std::string_view) {}, limits};
  const Status status = detail::guard_user("the called function", [&] {
    return node.op->reference({attributes_of(graph, bound, id), inputs, expected, silent});
  });
  if (!status) return at_node(graph, id, status.error());
  return expected;
}

Status announce_check(const Graph& graph, NodeId id, const std::function<void(std::string_view, double)>& tell) {
  if (!tell) return {};
  const Node& node = graph.nodes[id];
  std::vector<TensorType> inputs, results;
  for (const ValueId input : node.inputs) inputs.push_back(graph.values[input].type);
  for (const ValueId result : node.results) results.push_back(graph.values[result].type);
  return detail::guard_user("`on_verify`", [&]() -> Status {
    const UnderSign none(nullptr);  // the listener's own use of cleave is not stopped
    call_foreign("`on_verify`", {}, [&] { tell(graph.display_name(id), node.op->cost(inputs, results, node.attributes).flops); });
    return {};
  });
}

std::optional<Error> check_against_reference(const Graph& graph, const BoundAttributes& bound, NodeId id, std::span<const Array> inputs,
                                             std::span<const Array> results, const CallLimits* limits, const PrecisionOf& precision) {
  const OpDef& op = *graph.nodes[id].op;
  const Attributes& attributes = attributes_of(graph, bound, id);
  if (has_equation(op, inputs, results)) {
    const std::optional<std::string> what = unsatisfied(op, attributes, inputs, results);
    return what ? std::optional(differs(graph, id, *what)) : std::nullopt;
  }
  const Result<std::vector<Array>> expected = reference_results(graph, bound, id, inputs, limits);
  if (!expected) return expected.error();
  const Result<std::optional<Array>> slack = slack_of(graph, bound, id, inputs, precision);
  if (!slack) return slack.error();
  const bool moves = op.cost_class == CostClass::movement;
  const double length = moves ? 1 : reduction_length(op, attributes, inputs, results);
  for (std::size_t i = 0; i < expected->size(); ++i) {
    const Array &is = results[i], &should = (*expected)[i];
    const auto what = moves ? exact_difference(is, should) : difference(is, should, length, *slack ? &**slack : nullptr);
    if (what) return differs(graph, id, *what);
  }
  return std::nullopt;
}

std::optional<Error> check_against_references(const Graph& graph, const BoundAttributes& bound, const FusionGroup& group,
                                              std::span<const Array> inputs, std::span<const Array> results, const PrecisionOf& precision) {
  std::vector<std::pair<ValueId, Array>> known;
  for (std::size_t i = 0; i < inputs.size(); ++i) known.emplace_back(group.inputs[i], inputs[i]);
  // The error allowed for an earlier operation of the group grows with its elements' magnitude, like the terms of a sum.
  double length = 1;
  std::map<ValueId, Array> slacks;  // f64
  for (const NodeId id : group.nodes) {
    const Node& node = graph.nodes[id];
    std::vector<Array> operands;
    for (const ValueId input : node.inputs)
      operands.push_back(std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.first == input; })->second);
    Result<std::vector<Array>> expected = reference_results(graph, bound, id, operands);
    if (!expected) return expected.error();
    const double size = is_floating((*expected)[0].dtype()) ? largest_magnitude((*expected)[0]) : 1;
    length = std::max(length, reduction_length(*node.op, attributes_of(graph, bound, id), operands, *expected)) + size * size;
    Result<std::optional<Array>> more = slack_of(graph, bound, id, operands, precision);
    if (!more) return more.error();
    std::vector<const Array*> before;
    for (const ValueId input : node.inputs)
      if (const auto found = slacks.find(input); found != slacks.end()) before.push_back(&found->second);
    std::optional<Array> slack = carried_on((*expected)[0], before);
    if (*more) {
      if (!slack) slack = Array(TensorType{DType::f64, (*expected)[0].shape()});
      for (std::int64_t i = 0; i < slack->size(); ++i) slack->mutable_data<double>()[i] += (*more)->at(i);
    }
    const Array* allowed = slack ? &slacks.insert_or_assign(node.results[0], *std::move(slack)).first->second : nullptr;
    const auto written = std::find(group.results.begin(), group.results.end(), node.results[0]) - group.results.begin();
    if (static_cast<std::size_t>(written) < results.size()) {
      if (auto what = difference(results[static_cast<std::size_t>(written)], (*expected)[0], length, allowed))
        return differs(graph, id, *what);
    }
    known.emplace_back(node.results[0], std::move((*expected)[0]));
  }
  return std::nullopt;
}

}  // namespace cleave::runtime
