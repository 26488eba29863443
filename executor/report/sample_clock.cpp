#include "executor/report/sample_clock.h"

#include <sys/resource.h>

namespace cleave::runtime {
namespace {

constexpr double kShareLost = 0.05;                    ///< a sample that lost this fraction of its time, or more, is preempted
constexpr std::chrono::microseconds kWorthAsking{50};  ///< shorter samples are not checked, and more recent readings are reused

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

SampleClock::Reading SampleClock::read() {
  Reading reading;
  reading.at = Clock::now();
#ifdef RUSAGE_THREAD
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) == 0) {
    reading.processor_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    reading.taken = usage.ru_nivcsw;
    reading.waited = usage.ru_nvcsw;
  }
#endif
  return reading;
}

void SampleClock::begin() {
  if (Clock::now() - last_.at > kWorthAsking) last_ = read();
  begin_ = Clock::now();
}

SampleClock::Sample SampleClock::end() {
  const Clock::time_point end = Clock::now();
  Sample sample{std::chrono::duration<double>(end - begin_).count()};
  if (end - begin_ < kWorthAsking) return sample;
  const Reading now = read();
  const double elapsed = std::chrono::duration<double>(now.at - last_.at).count();
  const double lost = elapsed - (now.processor_seconds - last_.processor_seconds);
  sample.preempted = now.taken != last_.taken && now.waited == last_.waited && lost > kShareLost * sample.seconds;
  last_ = now;
  return sample;
}

}  // namespace cleave::runtime
