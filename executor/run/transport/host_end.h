// HostEnd: the host's end of all transports: the addresses of values, the time, and waits for a device. Used by the host's thread only.
#pragma once

#include <set>

#include "executor/device/streams.h"
#include "executor/run/clock/host_clock.h"
#include "executor/run/clock/point.h"
#include "executor/run/transport/host_storage.h"

namespace cleave::runtime {

class HostEnd {
 public:
  explicit HostEnd(const MemoryPlan& plan) : storage(plan) {}

  /// Must be called before each run.
  void begin(RunState& run) {
    run_ = &run;
    storage.begin();
    in_caller_memory.clear();
  }
  [[nodiscard]] RunState& run() { return *run_; }

  /// Waits for an event of a device on behalf of `here`; false: it is poisoned, which is reported.
  bool await(Streams& streams, const Event& event, const Origin& here);
  /// The same on both clocks.
  bool await(Streams& streams, const Point& point, const Origin& here);
  /// Reports an error of the step at `here`; false.
  bool fail(const Origin& here, Error error);

  HostStorage storage;
  HostClock clock;
  std::set<ValueId> in_caller_memory;  ///< received values that are in the caller's arrays only

 private:
  RunState* run_ = nullptr;
};

}  // namespace cleave::runtime
