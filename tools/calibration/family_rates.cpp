#include "tools/calibration/family_rates.h"

#include <algorithm>
#include <array>

namespace cleave::calibration {

double peak_of(const std::vector<KernelRate>& kernels) {
  double peak = 0;
  for (const KernelRate& kernel : kernels) peak = std::max(peak, kernel.bytes_per_second());
  return peak;
}

std::vector<FamilyRate> family_rates(const std::vector<KernelRate>& kernels) {
  std::array<std::vector<const KernelRate*>, kCostClassCount> families;
  for (const KernelRate& kernel : kernels) families[static_cast<std::size_t>(kernel.family)].push_back(&kernel);
  const double peak = peak_of(kernels);
  std::vector<FamilyRate> rates;
  for (std::vector<const KernelRate*>& members : families) {
    if (members.empty()) continue;
    std::stable_sort(members.begin(), members.end(),
                     [](const KernelRate* a, const KernelRate* b) { return a->bytes_per_second() < b->bytes_per_second(); });
    FamilyRate& rate = rates.emplace_back();
    rate.family = members.front()->family;
    rate.tables = static_cast<int>(members.size());
    rate.median = members[members.size() / 2]->bytes_per_second();
    rate.best = members.back()->bytes_per_second();
    rate.worst = members.front()->bytes_per_second();
    rate.worst_table = members.front()->table;
    rate.share_of_peak = peak > 0 ? rate.median / peak : 0;
  }
  return rates;
}

std::vector<CopyRate> copy_rates(const DeviceRates& rates) {
  std::vector<CopyRate> copies;
  for (const bool to_accelerator : {true, false}) {
    const LinkDirection& link = to_accelerator ? rates.host_to_accelerator : rates.accelerator_to_host;
    const std::size_t first = copies.size();
    double best = 0;
    for (const bool pageable : {false, true}) {
      for (const auto& [bytes, seconds] : pageable ? link.pageable_points : link.points) {
        const CopyRate& copy = copies.emplace_back(CopyRate{to_accelerator, pageable, bytes, seconds, 0});
        best = std::max(best, copy.bytes_per_second());
      }
    }
    for (std::size_t i = first; i < copies.size(); ++i) copies[i].share_of_link = copies[i].bytes_per_second() / best;
  }
  return copies;
}

}  // namespace cleave::calibration
