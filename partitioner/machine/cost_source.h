// Where a node's cost comes from, for those who say it.
#pragma once

#include <cstdint>
#include <string_view>

namespace cleave::planner {

/// Where a cost comes from.
enum class CostSource : std::uint8_t {
  none,      ///< costs nothing there
  measured,  ///< of this operation and type
  by_class,  ///< of its like, or of itself with another type
  by_rate,   ///< of the machine as a whole
  observed,  ///< in a run, by a profile
  given,     ///< by the user
};
std::string_view to_string(CostSource source);

/// Of each side's cost of a node.
struct CostSources {
  CostSource host = CostSource::none, accelerator = CostSource::none;
};

}  // namespace cleave::planner
