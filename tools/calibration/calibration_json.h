// JSON document of `cleave calibrate --json` (docs/schema/calibrate.json).
#pragma once

#include <string>

#include "tools/calibration/calibration.h"

namespace cleave::calibration {

/// `file`: the machine file that was written.
std::string to_json(const Calibration& calibration, const std::string& file);

}  // namespace cleave::calibration
