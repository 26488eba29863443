// Point: a point in one of a device's streams, for both clocks: the device's event, and the virtual time at which it completes.
#pragma once

#include "executor/device/event.h"

namespace cleave::runtime {

struct Point {
  Event event;
  double time = 0;
};

}  // namespace cleave::runtime
