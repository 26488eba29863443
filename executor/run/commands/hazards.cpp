#include "executor/run/commands/hazards.h"

#include <algorithm>

namespace cleave::runtime {

Hazards::Hazards(const MemoryPlan& plan, const std::vector<StorageIndex>& transferred)
    : first_(plan.storages.size()), last_(plan.storages.size()) {
  std::vector<std::int64_t> cuts;
  for (StorageIndex s : transferred) {
    const Range& range = plan.storages[index(s)].range;
    if (range.bytes == 0) continue;
    cuts.push_back(range.offset);
    cuts.push_back(range.offset + range.bytes);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  if (cuts.empty()) return;
  cells_.resize(cuts.size() - 1);
  for (std::size_t s = 0; s < plan.storages.size(); ++s) {
    const MemoryPlan::Storage& storage = plan.storages[s];
    if (storage.external || storage.range.bytes == 0) continue;
    std::int64_t begin = std::max(storage.range.offset, cuts.front());
    std::int64_t end = std::min(storage.range.offset + storage.range.bytes, cuts.back());
    if (begin >= end) continue;
    first_[s] = static_cast<std::size_t>(std::upper_bound(cuts.begin(), cuts.end(), begin) - cuts.begin() - 1);
    last_[s] = static_cast<std::size_t>(std::lower_bound(cuts.begin(), cuts.end(), end) - cuts.begin());
  }
}

void Hazards::before(Stream stream, StorageIndex storage, bool write, std::vector<Point>& waits) const {
  for (std::size_t c = first_[index(storage)]; c < last_[index(storage)]; ++c) {
    for (std::size_t other = 0; other < kStreamCount; ++other) {
      if (other == static_cast<std::size_t>(stream)) continue;
      if (cells_[c].write[other].event.sequence > 0) waits.push_back(cells_[c].write[other]);
      if (write && cells_[c].read[other].event.sequence > 0) waits.push_back(cells_[c].read[other]);
    }
  }
}

void Hazards::after(Stream stream, StorageIndex storage, bool write, const Point& point) {
  for (std::size_t c = first_[index(storage)]; c < last_[index(storage)]; ++c) {
    (write ? cells_[c].write : cells_[c].read)[static_cast<std::size_t>(stream)] = point;
  }
}

void Hazards::reset() {
  std::fill(cells_.begin(), cells_.end(), Cell{});
}

}  // namespace cleave::runtime
