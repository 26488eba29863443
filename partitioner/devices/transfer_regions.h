// TransferRegions: the cheapest regions for the transfers of one value to one device, over the part of the region tree between the region
// where the value lives and those of its uses.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/solver/problem.h"
#include "partitioner/solver/region_tree.h"

namespace cleave::planner {

class TransferRegions {
 public:
  explicit TransferRegions(const PlacementProblem& problem) : problem_(problem), span_(problem.regions) {}

  /// Begins with a value that lives in region `top` and that no use needs yet.
  void restart(std::int32_t top);
  /// A use in `region` needs the value.
  void need(std::int32_t region);
  [[nodiscard]] bool needed() const { return needed_; }
  /// The executions per run of the cheapest set of transfers that reaches all uses. Of equally cheap sets the outermost counts.
  double executions();
  /// The regions of that set, by number; valid after executions().
  const std::vector<std::int32_t>& regions();

 private:
  struct State {
    double below = 0;   ///< executions of the cheapest transfers in the child regions
    bool here = false;  ///< whether a transfer stands in this region
  };
  const PlacementProblem& problem_;
  RegionSpan span_;
  std::vector<State> states_;
  std::vector<std::uint8_t> served_;
  std::vector<std::int32_t> regions_;
  bool needed_ = false;
};

}  // namespace cleave::planner
