#include "partitioner/apply/deliveries.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace cleave::planner {
namespace {

using Key = std::tuple<ValueId, DeviceId, RegionId>;

Key key_of(const Transfer& t) {
  return {t.value, t.to, t.region};
}

}  // namespace

bool reads_on(const Placement& placement, const ValueUse& use, DeviceId device) {
  return use.host_only() ? device == kHost : placement.has_copy(use.node.index, device);
}

Deliveries::Deliveries(const Graph& graph, const ValueUses& uses, const Placement& placement, const std::vector<Transfer>& transfers) {
  std::vector<std::pair<Key, std::size_t>> index;
  index.reserve(transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i) index.emplace_back(key_of(transfers[i]), i);
  std::sort(index.begin(), index.end());

  std::vector<std::pair<std::size_t, const ValueUse*>> served;
  for (auto group = index.begin(); group != index.end();) {
    const auto [value, to, first_region] = group->first;
    const auto next = std::find_if(group, index.end(), [&](const auto& entry) {
      return std::get<0>(entry.first) != std::get<0>(group->first) || std::get<1>(entry.first) != std::get<1>(group->first);
    });
    const RegionId top = graph.values[value].region;
    for (const ValueUse& use : uses.of(value)) {
      if (!reads_on(placement, use, to)) continue;
      for (RegionId region = use.region;; region = graph.regions[region].parent) {
        const auto found = std::lower_bound(group, next, std::pair(Key{value, to, region}, std::size_t{0}));
        if (found != next && std::get<2>(found->first) == region) {
          served.emplace_back(found->second, &use);
          break;
        }
        if (region == top || !graph.regions[region].parent) break;
      }
    }
    group = next;
  }
  std::stable_sort(served.begin(), served.end(), [](const auto& a, const auto& b) { return a.first < b.first; });

  first_.assign(transfers.size() + 1, 0);
  uses_.reserve(served.size());
  for (const auto& [transfer, use] : served) {
    ++first_[transfer + 1];
    uses_.push_back(*use);
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
}

}  // namespace cleave::planner
