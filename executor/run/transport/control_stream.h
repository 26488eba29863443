// ControlStream: the host's decisions of loops and branches on their way to a device, which follows them in the same order.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "executor/device/run_state.h"

namespace cleave::runtime {

/// The stream of the host's decisions to one device: predicates as 0 or 1, and trip counts.
class ControlStream {
 public:
  struct Decision {
    std::int64_t value = 0;
    double time = 0;  ///< virtual
  };
  bool put(RunState& run, DeviceId who, const Origin& origin, Decision decision);  ///< false: stopped
  std::optional<Decision> take(RunState& run, DeviceId who, const Origin& origin);
  void reset() { decisions_.clear(); }

 private:
  static constexpr std::size_t kCapacity = 4096;  ///< number of decisions that the host may be ahead of a device
  std::deque<Decision> decisions_;
};

}  // namespace cleave::runtime
