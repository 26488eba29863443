#include "graph/base/device_name.h"

namespace cleave {

std::string to_string(DeviceId device) {
  return device == kHost ? "host" : "accelerator:" + std::to_string(device.index - kAccelerator.index);
}

}  // namespace cleave
