// Names of devices in plans, pictures, JSON, timelines and messages.
#pragma once

#include <string>

#include "graph/base/id.h"

namespace cleave {

/// `host`, `accelerator:0`.
std::string to_string(DeviceId device);

}  // namespace cleave
