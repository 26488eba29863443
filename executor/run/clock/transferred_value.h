// TransferredValue: one of the values that a transfer moves together, as transports copy it and as the timeline shows it.
#pragma once

#include <cstdint>

#include "graph/base/id.h"

namespace cleave::runtime {

struct TransferredValue {
  ValueId value;
  NodeId producer;
  std::int64_t bytes = 0;
  std::int64_t offset = 0;  ///< in the transfer's buffer
  double seconds = 0;       ///< predicted
};

}  // namespace cleave::runtime
