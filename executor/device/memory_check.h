// MemoryCheck: a device that finds reads of memory that holds no value.
#pragma once

#include "executor/device/device.h"

namespace cleave::runtime {

class MemoryCheck {
 public:
  virtual ~MemoryCheck() = default;
  /// Says that nothing reads `what` before it is written again. On `compute`.
  virtual Status discard(Range what, const Origin& origin) = 0;
};

}  // namespace cleave::runtime
