// The back end record of the simulated accelerator; the only function that other rooms call here.
#pragma once

#include "executor/device/back_end.h"

namespace cleave::runtime::simulated {

BackEnd back_end();

}  // namespace cleave::runtime::simulated
