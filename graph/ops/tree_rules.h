// The data of an ensemble of decision trees: its index operands as integers, and what must hold for them. For the reference implementation
// and the host's kernel of `tree_ensemble`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/array/tensor_type.h"
#include "graph/base/result.h"

namespace cleave::ops {

/// The operands of `tree_ensemble` after x, by position.
inline constexpr std::size_t kTreeRoots = 1, kTreeFeatures = 2, kTreeThresholds = 3, kTreeChildren = 4, kTreeLeaves = 5, kTreeTargets = 6;

/// Index operands, and the sizes that bound them. Children and roots: a node, or -1 - k for leaf k.
struct TreeIndices {
  std::vector<std::int64_t> roots, features, children, targets;
  std::int64_t columns = 2;  ///< of children: with 3, the last one is for NaN
  std::int64_t leaves = 0;
  std::int64_t width = 0;    ///< columns of x
  std::int64_t outputs = 1;  ///< if there are targets
};

/// Appends the elements of an integer operand; values beyond int64 become its largest, which is no valid index.
void append_integers(const TensorType& type, const std::byte* data, std::vector<std::int64_t>& all);

/// An Error that names the first node, leaf or tree whose index does not exist; then every walk ends at a leaf.
Status check_trees(const TreeIndices& trees);

}  // namespace cleave::ops
