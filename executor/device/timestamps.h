// Timestamps: when a device executed its commands, by a clock of its own. Called by the driver thread.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/device/event.h"
#include "executor/device/run_state.h"

namespace cleave::runtime {

/// When the device began and ended the commands of one label, on the host's clock, as exactly as the device can tell. From `begin` to
/// `work` the device waited for the host.
struct Measured {
  std::uint64_t label = 0;
  RunState::Clock::time_point begin, work, end;
};

class Timestamps {
 public:
  virtual ~Timestamps() = default;
  /// Called right after `Device::begin_run`, from any thread: prepares `measure`, so that the run does not wait for its preparation.
  virtual Status prepare_to_measure() = 0;
  /// From now on, until the end of the run, the device measures the times of labeled commands.
  virtual Status measure() = 0;
  /// Commands enqueued in `stream` from now on have this label, which is higher than all labels before it; zero: no label.
  virtual void label(Stream stream, std::uint64_t label) = 0;
  /// Appends those times of a stream that have become known since the last call, in the order of the stream; commands without a label have
  /// no entry. `last`: no further command is enqueued in the stream in this run.
  virtual Status measured(Stream stream, bool last, std::vector<Measured>& to) = 0;
};

}  // namespace cleave::runtime
