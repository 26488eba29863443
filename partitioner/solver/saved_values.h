// Saved values: which of the values that exist at a moment stay in memory until they are read, which are kept on the host until then, and
// which are computed again afterwards. For a given price of a byte one minimum cut decides exactly; the price is raised until what is kept
// fits (Lagrangian relaxation; J. E. Beasley, 1993). In small problems branch and bound closes the gap that a price leaves. Knows numbers
// only. docs/placement.md states the problem.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace cleave::planner {

struct SavedValuesProblem {
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  struct Value {
    double bytes = 0;                    ///< that it takes at the moment, if it is kept
    double again_seconds = kNever;       ///< the cost of computing it again, without that of its operands; kNever: it cannot be
    double fetch_seconds = kNever;       ///< the cost of sending it to the host and fetching it from there; kNever: it cannot be
    std::vector<std::int32_t> operands;  ///< the values that this reads, each with a smaller index
    bool wanted = false;                 ///< it is read after the moment
  };
  std::vector<Value> values;
  double memory_bytes = 0;  ///< for all values that are kept
};

struct SavedValues {
  enum class How : std::uint8_t { dropped, kept, host, again };
  std::vector<How> how;      ///< by value
  double bytes = 0;          ///< of the values that are kept
  double seconds = 0;        ///< of what is computed again or fetched
  double bound_seconds = 0;  ///< no choice that fits takes less
};

/// The cheapest choice found that fits, with a lower bound of all that do; nothing if none fits.
std::optional<SavedValues> choose_saved_values(const SavedValuesProblem& problem);

/// The choice in which values are had as wished, if they are needed; those that cannot be computed again or fetched are kept.
SavedValues saved_values(const SavedValuesProblem& problem, const std::vector<SavedValues::How>& wished);

}  // namespace cleave::planner
