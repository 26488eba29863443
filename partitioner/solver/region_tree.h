// Questions about the tree of regions that every step asks: who lies below whom (in constant time), and which regions lie between the place
// where a value lives and its uses. Knows regions only.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// Answers "does `inner` lie at or below `outer`" from preorder intervals.
class RegionTree {
 public:
  explicit RegionTree(const std::vector<PlacementProblem::Region>& regions);
  [[nodiscard]] bool within(std::int32_t inner, std::int32_t outer) const {
    return first_[inner] >= first_[outer] && first_[inner] < first_[outer] + size_[outer];
  }

 private:
  std::vector<std::int32_t> first_, size_;
};

/// Uses ordered by value: those of value v are uses[order[start[v]]] ... uses[order[start[v + 1] - 1]].
struct UsesByValue {
  std::vector<std::int32_t> start, order;
  explicit UsesByValue(const PlacementProblem& problem);
};

/// The part of the region tree between one region (slot 0) and some regions below it, rebuilt for one value after the other without
/// allocation. Parents have smaller slots than their children.
class RegionSpan {
 public:
  struct Slot {
    std::int32_t region = 0;
    std::int32_t parent = 0;  ///< a slot; of slot 0: itself
  };
  explicit RegionSpan(const std::vector<PlacementProblem::Region>& regions)
      : regions_(regions), stamp_(regions.size()), slot_(regions.size()) {}
  void restart(std::int32_t top);
  /// The slot of `region`, which lies at or below the top; adds what is missing on the way up.
  std::int32_t add(std::int32_t region);
  [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }

 private:
  const std::vector<PlacementProblem::Region>& regions_;
  std::vector<std::uint32_t> stamp_;
  std::vector<std::int32_t> slot_, path_;
  std::vector<Slot> slots_;
  std::uint32_t now_ = 0;
};

}  // namespace cleave::planner
