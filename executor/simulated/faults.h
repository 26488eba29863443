// Faults: fault injection for tests and demonstrations: `--inject kernel:3,stall:7`. N counts from 1 over the life of the device, and each
// fault happens once: the run after a failed one finds a healthy device, unless it was lost.
//   oom         the arena cannot be allocated          transfer:N  the Nth transfer fails
//   kernel:N    the Nth kernel fails                   corrupt:N   the Nth transfer arrives with a wrong byte (and is found out)
//   stall:N     the Nth kernel or transfer never ends  lost:N      the device is lost at the Nth kernel or transfer
// Transfers are counted by value: each value of a coalesced transfer counts, a value in chunks counts once. A kernel that is launched for
// ranges of rows counts once too.
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/base/result.h"

namespace cleave::runtime {

struct Faults {
  bool oom = false;
  std::int64_t kernel = 0, transfer = 0, corrupt = 0, stall = 0, lost = 0;  ///< 0: never

  /// Parses the list; an Error (usage) that shows the accepted forms.
  static Result<Faults> parse(std::string_view text);
};

}  // namespace cleave::runtime
