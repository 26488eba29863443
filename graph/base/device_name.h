// How devices are named wherever people or programs read of them: plans, pictures, JSON, timelines, messages.
#pragma once

#include <string>

#include "graph/base/id.h"

namespace cleave {

/// `host`, `accelerator:0`.
std::string to_string(DeviceId device);

}  // namespace cleave
