// SampleClock: times the work of a thread, sample by sample, and detects preempted samples: those in which the operating system took the
// processor from the thread for more than 5 % of the sample. It queries the operating system at most about every 50 us, since a query costs
// a microsecond.
#pragma once

#include <chrono>

namespace cleave::runtime {

class SampleClock {
 public:
  struct Sample {
    double seconds = 0;
    bool preempted = false;
  };

  void begin();
  /// The time since begin(), on the same thread. A sample in which the thread also waited voluntarily counts as not preempted, since the
  /// length of that wait is unknown. So does one of less than 50 us, which is shorter than a time slice.
  Sample end();

 private:
  using Clock = std::chrono::steady_clock;
  /// The operating system's counters of the thread at one moment.
  struct Reading {
    Clock::time_point at;
    double processor_seconds = 0;
    long taken = 0;   ///< how often the processor was taken from the thread
    long waited = 0;  ///< how often the thread gave the processor up
  };
  static Reading read();

  Clock::time_point begin_;
  Reading last_;  ///< taken at most 50 us before `begin_`
};

}  // namespace cleave::runtime
