// Summary of an accelerator's calibration for users: rates by family of kernels, and by size of copy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/calibration/calibration.h"

namespace cleave::calibration {

/// Memory traffic per second of the kernels of one cost class, on the largest call of each of their tables.
struct FamilyRate {
  CostClass family = CostClass::bookkeeping;
  int tables = 0;
  double median = 0, best = 0, worst = 0;  ///< bytes per second
  std::string worst_table;
  double share_of_peak = 0;  ///< the median as a share of the best rate of any kernel
};
/// Rates of the classes that have a table, in the order of the classes.
std::vector<FamilyRate> family_rates(const std::vector<KernelRate>& kernels);
/// The best rate of all kernels, in bytes per second; 0 if there are none.
double peak_of(const std::vector<KernelRate>& kernels);

struct CopyRate {
  bool to_accelerator = true, pageable = false;
  double bytes = 0, seconds = 0;
  double share_of_link = 0;  ///< share of the best rate of any copy in this direction
  [[nodiscard]] double bytes_per_second() const { return bytes / seconds; }
};
std::vector<CopyRate> copy_rates(const DeviceRates& rates);

}  // namespace cleave::calibration
