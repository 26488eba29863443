// The unit is found from the sum of all costs; where rounding could matter, from the sum of the rounded integers.
#include "partitioner/solver/capacity_scale.h"

#include <algorithm>

namespace cleave::planner {
namespace {

constexpr std::int64_t kLargestSum = std::int64_t{1} << 62;

/// Calls `visit(seconds)` once for each cost and each saving of the problem.
template <class Visit>
void for_each_cost(const PlacementProblem& problem, const UsesByValue& uses, Visit visit) {
  for (const auto& node : problem.nodes) {
    const double frequency = problem.regions[node.region].frequency;
    visit(frequency * node.host_seconds);
    visit(frequency * node.accelerator_seconds);
  }
  for (const auto& saving : problem.savings) {
    const double frequency = problem.regions[problem.nodes[saving.node].region].frequency;
    visit(frequency * saving.host_seconds);
    visit(frequency * saving.accelerator_seconds);
  }
  RegionSpan span(problem.regions);
  for (std::size_t v = 0; v < problem.values.size(); ++v) {
    if (uses.start[v] == uses.start[v + 1]) continue;
    const auto& value = problem.values[v];
    span.restart(value.region);
    for (std::int32_t i = uses.start[v]; i < uses.start[v + 1]; ++i) span.add(problem.uses[uses.order[i]].region);
    for (const RegionSpan::Slot& slot : span.slots()) {
      const double frequency = problem.regions[slot.region].frequency;
      visit(frequency * value.host_to_accelerator_seconds);
      visit(frequency * value.accelerator_to_host_seconds);
    }
  }
}

}  // namespace

CapacityScale::CapacityScale(const PlacementProblem& problem, const UsesByValue& uses) {
  double sum = 0;
  for_each_cost(problem, uses, [&](double seconds) {
    sum += seconds;
    ++terms_;
  });
  if (sum <= 0) return;
  int magnitude = 0;
  std::frexp(sum, &magnitude);  // sum < 2^magnitude
  exponent_ = std::max(magnitude - 63, -1000);
  for (;; ++exponent_) {
    per_second_ = std::ldexp(1.0, -exponent_);
    if (sum * per_second_ > 1.001 * kLargestSum) continue;  // surely too fine
    if (sum * per_second_ < 0.999 * kLargestSum - 2 * static_cast<double>(terms_)) return;
    __int128 total = 0;  // the sum in integers decides: it does not depend on the order
    for_each_cost(problem, uses, [&](double seconds) { total += units(seconds); });
    if (total < kLargestSum) return;
  }
}

std::int64_t CapacityScale::units(double seconds) const {
  if (seconds <= 0) return 0;
  const double half = std::min(seconds * per_second_ / 2, static_cast<double>(kLargestSum) / 2);  // a cost that no cut pays may be larger
  const auto whole = static_cast<std::int64_t>(half);
  // The same as std::llround, without its function call.
  const std::int64_t nearest = half - static_cast<double>(whole) >= 0.5 ? whole + 1 : whole;
  return 2 * std::max<std::int64_t>(1, nearest);
}

}  // namespace cleave::planner
