// What calibration found of an accelerator's kernels and link, for people: rates by family of kernels, and by size of copy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/calibration/calibration.h"

namespace cleave::calibration {

/// Memory that kernels which cost alike read and wrote in a second, on the largest call of each of their tables.
struct FamilyRate {
  CostClass family = CostClass::bookkeeping;
  int tables = 0;
  double median = 0, best = 0, worst = 0;  ///< bytes per second
  std::string worst_table;
  double share_of_peak = 0;  ///< the median's, of the best that any kernel reached
};
/// In the order of the classes; those with a table.
std::vector<FamilyRate> family_rates(const std::vector<KernelRate>& kernels);
/// The best bytes per second of all; 0 where there are none.
double peak_of(const std::vector<KernelRate>& kernels);

struct CopyRate {
  bool to_accelerator = true, pageable = false;
  double bytes = 0, seconds = 0;
  double share_of_link = 0;  ///< of the best rate that any copy in this direction reached
  [[nodiscard]] double bytes_per_second() const { return bytes / seconds; }
};
std::vector<CopyRate> copy_rates(const DeviceRates& rates);

}  // namespace cleave::calibration
