// Which numbers of a calibrated machine were measured, and which stand as they were given.
#pragma once

#include <string>
#include <vector>

#include "tools/calibration/calibration.h"

namespace cleave::calibration {

/// One number of the machine file.
struct NumberSource {
  std::string name;  ///< "host.flops.f32", as the keys of the file
  double value = 0;
  std::string unit;  ///< "1/s", "B/s", "B", "s"
  bool measured = false;
  [[nodiscard]] const char* source() const { return measured ? "measured" : "default"; }
};

/// Every rate and time of host, accelerator and link; tables of points are measured, all of them.
std::vector<NumberSource> number_sources(const Calibration& calibration);
/// "measured" or "default", of the number of that name.
std::string source_of(const Calibration& calibration, const std::string& name);

}  // namespace cleave::calibration
