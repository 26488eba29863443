// Tells which numbers of a calibrated machine were measured, and which are defaults.
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

/// All rates and times of host, accelerator and link. Tables of points are not listed: all of them are measured.
std::vector<NumberSource> number_sources(const Calibration& calibration);
/// "measured" or "default", for the number with this name.
std::string source_of(const Calibration& calibration, const std::string& name);

}  // namespace cleave::calibration
