// CostSource: where a node's cost comes from, for reports.
#pragma once

#include <cstdint>
#include <string_view>

namespace cleave::planner {

/// The source of a cost.
enum class CostSource : std::uint8_t {
  none,      ///< the node costs nothing there
  measured,  ///< measured times of this operation and type
  by_class,  ///< times of operations of its cost class, or of itself with another type
  by_rate,   ///< rates of the machine as a whole
  observed,  ///< times that a run's profile observed
  given,     ///< a cost that the user gave
};
std::string_view to_string(CostSource source);

/// The sources of a node's costs, by side.
struct CostSources {
  CostSource host = CostSource::none, accelerator = CostSource::none;
};

}  // namespace cleave::planner
