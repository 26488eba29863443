// A walk up the span of regions decides whether a transfer in a region is cheaper than those below it, and a walk down reads the choice.
#include "partitioner/devices/transfer_regions.h"

#include <algorithm>

namespace cleave::planner {

void TransferRegions::restart(std::int32_t top) {
  span_.restart(top);
  states_.assign(1, {});
  needed_ = false;
}

void TransferRegions::need(std::int32_t region) {
  const auto slot = static_cast<std::size_t>(span_.add(region));
  if (states_.size() < span_.slots().size()) states_.resize(span_.slots().size());
  states_[slot].here = true;
  needed_ = true;
}

double TransferRegions::executions() {
  // Products of frequencies have rounding errors. Sums that are equal within these are a tie, which the outermost region wins.
  constexpr double kTie = 1 + 1e-12;
  if (!needed_) return 0;
  const auto& slots = span_.slots();
  double total = 0;
  for (std::size_t s = slots.size(); s-- > 0;) {
    const double here = problem_.regions[slots[s].region].frequency;
    State& state = states_[s];
    state.here = state.here || here <= state.below * kTie;
    const double best = state.here ? here : state.below;
    (s == 0 ? total : states_[slots[s].parent].below) += best;
  }
  return total;
}

const std::vector<std::int32_t>& TransferRegions::regions() {
  const auto& slots = span_.slots();
  regions_.clear();
  served_.assign(slots.size(), 0);
  for (std::size_t s = 0; s < slots.size(); ++s) {
    served_[s] = s > 0 && served_[slots[s].parent];
    if (served_[s] || !states_[s].here) continue;
    served_[s] = 1;
    regions_.push_back(slots[s].region);
  }
  std::sort(regions_.begin(), regions_.end());
  return regions_;
}

}  // namespace cleave::planner
