#include "executor/device/awake.h"

#include "executor/device/workers.h"

namespace cleave::runtime {

bool has_core_to_wait() {
  constexpr int kFewCores = 3;
  static const bool has = Workers::available() > kFewCores;
  return has;
}

}  // namespace cleave::runtime
