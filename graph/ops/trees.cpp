// tree_ensemble: decision trees as arrays over all their nodes. Each child is behind its parent, so that no walk can be endless.
#include "graph/ops/trees.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/base/stop.h"
#include "graph/ops/calls.h"
#include "graph/ops/op_table.h"
#include "graph/ops/positions.h"
#include "graph/ops/rules.h"
#include "graph/ops/tree_rules.h"

namespace cleave {
namespace ops {

void append_integers(const TensorType& type, const std::byte* data, std::vector<std::int64_t>& all) {
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const T* from = reinterpret_cast<const T*>(data);
      each_with_looks(type.elements(), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) all.push_back(to_position(from[i]));
      });
    }
  });
}

Status check_trees(const TreeIndices& trees) {
  const auto nodes = static_cast<std::int64_t>(trees.features.size());
  const auto wrong = [](const std::string& what, std::int64_t number, const std::string& why) -> Status {
    return Error{"`tree_ensemble`: " + what + " " + std::to_string(number) + " " + why};
  };
  const auto outside = [&](std::int64_t place, std::int64_t least) {
    return place >= nodes || place < -trees.leaves || (place >= 0 && place < least);
  };
  const std::string sizes = "; there are " + std::to_string(nodes) + " nodes and " + std::to_string(trees.leaves) + " leaves";
  StopLooks looks;
  for (std::size_t i = 0; i < trees.roots.size(); ++i) {
    looks.worked();
    if (outside(trees.roots[i], 0))
      return wrong("tree", static_cast<std::int64_t>(i), "has the root " + std::to_string(trees.roots[i]) + sizes);
  }
  for (std::int64_t i = 0; i < nodes; ++i) {
    looks.worked();
    const std::int64_t feature = trees.features[static_cast<std::size_t>(i)];
    if (feature < 0 || feature >= trees.width)
      return wrong("node", i, "tests the feature " + std::to_string(feature) + ", and x has " + std::to_string(trees.width));
    const std::int64_t* children = &trees.children[static_cast<std::size_t>(i * trees.columns)];
    for (std::int64_t k = 0; k < trees.columns; ++k)
      if (outside(children[k], i + 1))
        return wrong(
            "node", i,
            "has the child " + std::to_string(children[k]) + ", which is neither a node behind it nor -1 - k for a leaf k" + sizes);
    if (trees.columns == 3 && children[2] != children[0] && children[2] != children[1])
      return wrong("node", i, "has the child " + std::to_string(children[2]) + " for NaN, which is neither of its other two");
  }
  for (std::size_t i = 0; i < trees.targets.size(); ++i) {
    looks.worked();
    if (trees.targets[i] < 0 || trees.targets[i] >= trees.outputs)
      return wrong("leaf", static_cast<std::int64_t>(i),
                   "has the target " + std::to_string(trees.targets[i]) + ", and there are " + std::to_string(trees.outputs) + " outputs");
  }
  return {};
}

namespace {

TypeResult trees_type(Types inputs, const Attributes& attributes) {
  constexpr std::string_view op = "tree_ensemble";
  const TensorType& x = inputs[0];
  const bool targeted = inputs.size() > kTreeTargets;
  const auto refused = [&](DiagnosticKind kind, std::string_view why) { return refuse(kind, op, inputs, why); };
  if (x.dtype != DType::f32 && x.dtype != DType::f64) return refused(DiagnosticKind::type, "x must be f32 or f64");
  if (inputs[kTreeThresholds].dtype != x.dtype || inputs[kTreeLeaves].dtype != x.dtype)
    return refused(DiagnosticKind::type, "thresholds and leaves must have the element type of x");
  for (const std::size_t index : {kTreeRoots, kTreeFeatures, kTreeChildren, kTreeTargets})
    if (index < inputs.size() && !is_integer(inputs[index].dtype))
      return refused(DiagnosticKind::type, "roots, features, children and targets must be integers");
  if (x.rank() < 1) return refused(DiagnosticKind::shape, "the last axis of x has the features");
  if (inputs[kTreeRoots].rank() != 1 || inputs[kTreeFeatures].rank() != 1 || inputs[kTreeThresholds].shape != inputs[kTreeFeatures].shape)
    return refused(DiagnosticKind::shape, "roots are a vector, and features and thresholds vectors of one length");
  const Shape& children = inputs[kTreeChildren].shape;
  if (children.size() != 2 || children[0] != inputs[kTreeFeatures].shape[0] || (children[1] != 2 && children[1] != 3))
    return refused(DiagnosticKind::shape, "children are [nodes, 2], or [nodes, 3] with those for NaN");
  const TensorType& leaves = inputs[kTreeLeaves];
  if (leaves.rank() < 1 || leaves.rank() > 2) return refused(DiagnosticKind::shape, "leaves are [leaves] or [leaves, outputs]");
  if (targeted && (leaves.rank() != 1 || inputs[kTreeTargets].shape != leaves.shape))
    return refused(DiagnosticKind::shape, "with targets, leaves and targets are vectors of one length");
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() / 4;
  if (children[0] > kMost || leaves.shape[0] > kMost || inputs[kTreeRoots].shape[0] > kMost || x.shape.back() > kMost)
    return refused(DiagnosticKind::shape, "too many nodes, leaves, trees or features");
  const auto& aggregate = attributes.get<std::string>("aggregate");
  if (aggregate != "sum" && aggregate != "mean" && aggregate != "min" && aggregate != "max")
    return refused(DiagnosticKind::value, "`aggregate` is sum, mean, min or max, not `" + aggregate + "`");
  const auto* outputs = attributes.get_if<std::int64_t>("outputs");
  if (targeted != (outputs != nullptr)) return refused(DiagnosticKind::value, "`outputs` goes with targets: the number of outputs");
  if (targeted && *outputs < 1) return refused(DiagnosticKind::value, "`outputs` must be 1 or more, not " + std::to_string(*outputs));
  if (targeted && (aggregate == "min" || aggregate == "max"))
    return refused(DiagnosticKind::value, "`aggregate` " + aggregate + " needs leaves with a value for every output, and no targets");
  TensorType result{x.dtype, Shape(x.shape.begin(), x.shape.end() - 1)};
  if (targeted) result.shape.push_back(*outputs);
  if (leaves.rank() == 2) result.shape.push_back(leaves.shape[1]);
  return give(op, inputs, std::move(result));
}

/// Comparisons along balanced trees, and one addition for each value of a leaf.
Cost trees_cost(Types inputs, Types results, const Attributes&) {
  const double width = std::max<double>(1, static_cast<double>(inputs[0].shape.back()));
  const double rows = static_cast<double>(inputs[0].elements()) / width, trees = static_cast<double>(inputs[kTreeRoots].elements());
  const double steps = std::log2(static_cast<double>(inputs[kTreeFeatures].elements()) / std::max(1.0, trees) + 2);
  const double added = inputs[kTreeLeaves].rank() == 2 ? static_cast<double>(inputs[kTreeLeaves].shape[1]) : 1;
  return {rows * trees * (steps + added), traffic(inputs, results)};
}

template <class T>
bool goes_first(T x, T threshold, bool strict) {
  return strict ? x < threshold : x <= threshold;
}

/// The leaf that a row reaches.
template <class T>
std::int64_t leaf_of(const TreeIndices& trees, const T* thresholds, bool strict, std::int64_t place, const T* row, StopLooks& looks) {
  while (place >= 0) {
    looks.worked();
    const T x = row[trees.features[static_cast<std::size_t>(place)]];
    const std::int64_t column = goes_first(x, thresholds[place], strict) ? 0 : std::isnan(x) && trees.columns == 3 ? 2 : 1;
    place = trees.children[static_cast<std::size_t>(place * trees.columns + column)];
  }
  return -1 - place;
}

template <class T>
T aggregated(const std::string& aggregate, T before, T value, bool first) {
  if (aggregate == "min") return first || value < before ? value : before;
  if (aggregate == "max") return first || value > before ? value : before;
  return before + value;
}

template <class T>
void walk_trees(const OpCall& call, const TreeIndices& trees) {
  const Array& leaves = call.inputs[kTreeLeaves];
  const std::int64_t values = leaves.type().rank() == 2 ? leaves.shape()[1] : 1;
  const std::int64_t outputs = trees.targets.empty() ? values : trees.outputs;
  const auto& aggregate = call.attributes.get<std::string>("aggregate");
  const bool strict = call.attributes.get<bool>("strict");
  T* out = call.results[0].mutable_data<T>();
  if (outputs == 0) return;
  const std::int64_t rows = call.results[0].size() / outputs;
  StopLooks looks;
  for (std::int64_t row = 0; row < rows; ++row, out += outputs) {
    for (std::size_t tree = 0; tree < trees.roots.size(); ++tree) {
      const std::int64_t leaf = leaf_of(trees, call.inputs[kTreeThresholds].data<T>(), strict, trees.roots[tree],
                                        call.inputs[0].data<T>() + row * trees.width, looks);
      looks.worked(values);
      const T* value = leaves.data<T>() + leaf * values;
      T* first = out + (trees.targets.empty() ? 0 : trees.targets[static_cast<std::size_t>(leaf)]);
      for (std::int64_t k = 0; k < values; ++k) first[k] = aggregated(aggregate, first[k], value[k], tree == 0);
    }
    if (aggregate == "mean" && !trees.roots.empty())
      for (std::int64_t k = 0; k < outputs; ++k) out[k] /= static_cast<T>(trees.roots.size());
  }
}

Status trees_reference(const OpCall& call) {
  TreeIndices trees;
  const auto integers = [&](std::size_t input, std::vector<std::int64_t>& all) {
    if (input < call.inputs.size()) append_integers(call.inputs[input].type(), call.inputs[input].bytes(), all);
  };
  integers(kTreeRoots, trees.roots), integers(kTreeFeatures, trees.features), integers(kTreeChildren, trees.children),
      integers(kTreeTargets, trees.targets);
  trees.columns = call.inputs[kTreeChildren].shape()[1];
  trees.leaves = call.inputs[kTreeLeaves].shape()[0];
  trees.width = call.inputs[0].shape().back();
  trees.outputs = call.attributes.get_or<std::int64_t>("outputs", 1);
  if (Status valid = check_trees(trees); !valid) return valid;
  if (call.inputs[0].dtype() == DType::f64)
    walk_trees<double>(call, trees);
  else
    walk_trees<float>(call, trees);
  return {};
}

}  // namespace

constexpr OpDef op::tree_ensemble =
    Record("tree_ensemble(x, roots, features, thresholds, children, leaves, targets?, aggregate?, strict?, outputs?)", 6,
           {with_default("aggregate", AttributeDef::Type::text, "sum"), with_default("strict", AttributeDef::Type::boolean, false),
            optional("outputs", AttributeDef::Type::integer)},
           "decision trees: the sum (`mean`, `min`, `max`) of the leaves that each row of x reaches, by x <= threshold (`strict`: <)",
           trees_type, trees_cost, trees_reference)
        .operands(6, 7)
        .of_class(CostClass::sort)
        .may_fail()
        .also_called("TreeEnsemble, RandomForest, GradientBoosting")
        .differentiated(GradientRule::none());

}  // namespace ops

Tensor tree_ensemble(const Tensor& x, const Trees& trees, const TreeOptions& options, Here here) {
  constexpr const char* kNames[] = {"sum", "mean", "min", "max"};
  Attributes attributes{{"aggregate", std::string(kNames[static_cast<std::size_t>(options.aggregate)])}, {"strict", options.strict}};
  if (options.outputs) attributes.set("outputs", *options.outputs);
  std::vector<Tensor> operands{x, trees.roots, trees.features, trees.thresholds, trees.children, trees.leaves};
  if (trees.targets) operands.push_back(*trees.targets);
  return ops::call(op::tree_ensemble, operands, std::move(attributes), here);
}

}  // namespace cleave
