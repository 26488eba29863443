#include "executor/memory/memory_plan.h"

#include <algorithm>

namespace cleave::runtime {

StorageIndex DoubleBuffers::at(StorageIndex s, std::int32_t turn) const {
  if (turn == 0) return s;
  for (const std::vector<StorageIndex>& cycle : cycles) {
    const auto found = std::find(cycle.begin(), cycle.end(), s);
    if (found == cycle.end()) continue;
    return cycle[(static_cast<std::size_t>(found - cycle.begin()) + static_cast<std::size_t>(turn)) % cycle.size()];
  }
  return s;
}

}  // namespace cleave::runtime
