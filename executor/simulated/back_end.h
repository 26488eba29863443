// The door to the simulated accelerator: its record.
#pragma once

#include "executor/device/back_end.h"

namespace cleave::runtime::simulated {

BackEnd back_end();

}  // namespace cleave::runtime::simulated
