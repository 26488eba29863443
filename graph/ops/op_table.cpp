// The one list of ops.
#include "graph/ops/op_table.h"

#include <algorithm>

namespace cleave {
namespace {

std::vector<const OpDef*> collect() {
  std::vector<const OpDef*> all;
  for (const auto family : {ops::arithmetic_ops, ops::math_ops, ops::comparison_ops, ops::logic_ops, ops::selection_ops, ops::product_ops,
                            ops::reduction_ops, ops::softmax_ops, ops::shape_ops, ops::indexing_ops, ops::joining_ops, ops::creation_ops,
                            ops::random_ops, ops::sorting_ops, ops::effect_ops, ops::transfer_ops}) {
    for (const OpDef& op : family()) all.push_back(&op);
  }
  std::sort(all.begin(), all.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  return all;
}

}  // namespace

std::span<const OpDef* const> all_ops() {
  static const std::vector<const OpDef*> all = collect();
  return all;
}

const OpDef* find_op(std::string_view name) {
  const auto all = all_ops();
  const auto found =
      std::lower_bound(all.begin(), all.end(), name, [](const OpDef* op, std::string_view wanted) { return op->name < wanted; });
  return found != all.end() && (*found)->name == name ? *found : nullptr;
}

}  // namespace cleave
