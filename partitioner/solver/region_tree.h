// RegionTree, UsesByValue, RegionSpan: queries on the region tree that every step of the solver needs: whether a region is inside another
// (in constant time), and which regions are between a value's own region and those of its uses.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// Tells by preorder intervals whether region `inner` is `outer` or a descendant of it.
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

/// The part of the region tree between one region (slot 0) and some of its descendants, rebuilt for each value in turn without allocation.
/// Parents have smaller slots than their children.
class RegionSpan {
 public:
  struct Slot {
    std::int32_t region = 0;
    std::int32_t parent = 0;  ///< index of the parent's slot; slot 0 is its own parent
  };
  explicit RegionSpan(const std::vector<PlacementProblem::Region>& regions)
      : regions_(regions), stamp_(regions.size()), slot_(regions.size()) {}
  void restart(std::int32_t top);
  /// The slot of `region`, which is the top or a descendant of it. Adds missing slots on the path up to the top.
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
