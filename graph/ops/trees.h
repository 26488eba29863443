// Ensembles of decision trees: random forests, gradient-boosted trees.
#pragma once

#include "graph/ops/ops.h"

namespace cleave {

/// The trees of an ensemble, as arrays over all their nodes and leaves. LightGBM has these arrays for each tree: they are put one behind
/// the other, with the numbers of nodes and leaves counted on (models/data/digits_trees.py). scikit-learn and XGBoost count leaves as
/// nodes.
struct Trees {
  Tensor roots;                        ///< integers [trees]: the first node of each
  Tensor features;                     ///< integers [nodes]: the column of x that a node tests
  Tensor thresholds;                   ///< [nodes], of the type of x
  Tensor children;                     ///< integers [nodes, 2]: where to go if x <= threshold, and otherwise; a third column: if x is NaN
  Tensor leaves;                       ///< [leaves], or [leaves, outputs]: what a leaf adds
  std::optional<Tensor> targets = {};  ///< integers [leaves]: the output to which a leaf adds its one value
};
enum class TreeAggregate : std::uint8_t { sum, mean, min, max };
/// `tree_ensemble(x, trees, {.aggregate = TreeAggregate::mean})`
struct TreeOptions {
  TreeAggregate aggregate = TreeAggregate::sum;
  bool strict = false;                       ///< nodes test x < threshold, as XGBoost's do
  std::optional<std::int64_t> outputs = {};  ///< with `targets`: the number of outputs
};
/// Walks every tree for each row of x [..., features], and aggregates the leaves that are reached: [...] or [..., outputs]. A child is a
/// node behind its parent, or -1 - k for leaf k; roots likewise. Runs on the host. Errors `type`: x, thresholds and leaves that are not all
/// f32 or all f64; `shape`. A child, feature or target that does not exist is an Error of the run.
///   Tensor y = tree_ensemble(x, {roots, features, thresholds, children, leaves}) + base;
Tensor tree_ensemble(const Tensor& x, const Trees& trees, const TreeOptions& options = {}, Here here = Here::now());

}  // namespace cleave
