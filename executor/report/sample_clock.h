// SampleClock: times what a thread does, sample by sample, and says which samples were preempted: the operating system took the processor
// from the thread for more than 5 % of the sample. Asks the operating system at most about every 50 us, since that costs a microsecond.
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
  /// The time since begin(), on the same thread. A sample in which the thread also waited of its own accord is kept: how long it would have
  /// waited anyway cannot be told. So is one of less than 50 us, which is shorter than a time slice.
  Sample end();

 private:
  using Clock = std::chrono::steady_clock;
  /// What the operating system says of the thread, at a moment.
  struct Reading {
    Clock::time_point at;
    double processor_seconds = 0;
    long taken = 0;   ///< how often the processor was taken from the thread
    long waited = 0;  ///< how often the thread gave it up
  };
  static Reading read();

  Clock::time_point begin_;
  Reading last_;  ///< from before `begin_`, by 50 us at most
};

}  // namespace cleave::runtime
