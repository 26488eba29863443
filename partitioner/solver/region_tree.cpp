// Preorder intervals of regions, uses ordered by value, and the region span of one value.
#include "partitioner/solver/region_tree.h"

namespace cleave::planner {

RegionTree::RegionTree(const std::vector<PlacementProblem::Region>& regions) : first_(regions.size()), size_(regions.size(), 1) {
  const auto count = static_cast<std::int32_t>(regions.size());
  for (std::int32_t r = count - 1; r > 0; --r) size_[regions[r].parent] += size_[r];
  std::vector<std::int32_t> next(regions.size(), 1);
  for (std::int32_t r = 1; r < count; ++r) {  // parents precede their children
    first_[r] = next[regions[r].parent];
    next[regions[r].parent] += size_[r];
    next[r] = first_[r] + 1;
  }
}

UsesByValue::UsesByValue(const PlacementProblem& problem) : start(problem.values.size() + 1), order(problem.uses.size()) {
  for (const auto& use : problem.uses) ++start[use.value + 1];
  for (std::size_t v = 0; v < problem.values.size(); ++v) start[v + 1] += start[v];
  std::vector<std::int32_t> next(start.begin(), start.end() - 1);
  for (std::size_t i = 0; i < problem.uses.size(); ++i) order[next[problem.uses[i].value]++] = static_cast<std::int32_t>(i);
}

void RegionSpan::restart(std::int32_t top) {
  ++now_;
  slots_.assign(1, {top, 0});
  stamp_[top] = now_;
  slot_[top] = 0;
}

std::int32_t RegionSpan::add(std::int32_t region) {
  path_.clear();
  std::int32_t known = region;
  for (; stamp_[known] != now_; known = regions_[known].parent) path_.push_back(known);
  std::int32_t slot = slot_[known];
  for (auto r = path_.rbegin(); r != path_.rend(); ++r) {
    slots_.push_back({*r, slot});
    slot = static_cast<std::int32_t>(slots_.size()) - 1;
    stamp_[*r] = now_;
    slot_[*r] = slot;
  }
  return slot;
}

}  // namespace cleave::planner
