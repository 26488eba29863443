// Measuring methods that host and accelerator share: timing a call with enough repetitions, measuring a table, and deriving rates from
// tables. Knows no device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "graph/base/result.h"
#include "partitioner/machine/machine.h"
#include "tools/calibration/calibration.h"
#include "tools/calibration/samples.h"

namespace cleave::calibration {

using Clock = double (*)();  ///< seconds
double now();
/// Processor time of the whole process: the time that one thread uses, however busy the machine is.
double processor_time();

inline constexpr double kShareOfHost = 0.45;  ///< share of the time budget for the host if an accelerator is measured too

/// Processor time of the calling thread.
double thread_time();

/// The share of a core that the calling thread got since construction: less than 1 if it waited for the processor or for other threads.
class CoreShare {
 public:
  CoreShare() : begun_(now()), had_(thread_time()) {}
  [[nodiscard]] double value() const { return std::min(1.0, (thread_time() - had_) / std::max(now() - begun_, 1e-9)); }

 private:
  double begun_, had_;  ///< seconds
};

/// The median of the faster half, since slower times were disturbed. `times` must not be empty.
double undisturbed(std::vector<double> times);
/// Whether the times in the faster half are close to each other.
bool stable(std::vector<double> times);

/// The shortest time that a host clock measures precisely.
inline constexpr double kLongEnough = 1e-4;
/// A call of so many seconds is made twice at most: further repetitions would tell little.
inline constexpr double kTwiceIsEnough = 0.5;

/// Seconds of one call. Measures groups of calls of at least `group_seconds` until the times agree or three times `budget` is spent.
/// `calls(n)` makes n calls and returns a Status; one call warms up.
template <class F>
Result<double> seconds_of_call(double budget, F&& calls, Clock clock = now, double group_seconds = kLongEnough) {
  double before = clock();
  if (Status status = calls(1); !status) return status.error();
  if (const double warming = clock() - before; warming > kTwiceIsEnough) {
    before = clock();
    if (Status status = calls(1); !status) return status.error();
    return std::min(warming, clock() - before);
  }
  if (clock() - before < 0.1 * budget) {  // the first call may have allocated memory or woken threads
    before = clock();
    if (Status status = calls(1); !status) return status.error();
  }
  const double first = std::max(clock() - before, 1e-9);
  const int group = budget > 0 ? static_cast<int>(std::clamp(group_seconds / first, 1.0, 2000.0)) : 1;
  std::vector<double> times;
  const auto enough = [&, start = now()] {
    const double taken = now() - start;
    return times.size() >= 3 && (taken > 3 * budget || times.size() >= 1000 || (taken > budget && stable(times)));
  };
  while (!enough()) {
    before = clock();
    if (Status status = calls(group); !status) return status.error();
    times.push_back((clock() - before) / group);
  }
  return std::max(undisturbed(std::move(times)), 1e-9);
}

/// Fills an operand: with numbers of `type` between 0 and 1 or small integers, or as `contents` requires (indices are i32; for matrices,
/// those that begin `offset` bytes before `data`).
void fill(std::byte* data, DType type, std::int64_t bytes, const Contents& contents = {}, std::int64_t offset = 0);

/// Reports the progress of calibration, and knows when it must end.
class Course {
 public:
  Course(const CalibrationOptions& options, double seconds);
  /// Reports that `part` of this device's measurements is done.
  void say(std::string_view what, double part) const;
  /// Whether less than `left` seconds remain.
  [[nodiscard]] bool late(double left = 0) const { return now() > end_ - left; }

 private:
  const CalibrationOptions& options_;
  double end_;
};

/// Measures `table` into `rates.points[table.key()]`. The table ends where `seconds_of` returns nothing (memory is short) or where the next
/// size would take very long. `added`: seconds of each call that `seconds_of` does not include. An earlier measurement is kept where it is
/// faster.
using SecondsOf = std::function<Result<std::optional<double>>(const Sample&, const Table&)>;
Status measure_table(const Table& table, const SecondsOf& seconds_of, double added, DeviceRates& rates);

/// Derives the device's rates from the tables of `add` and `matmul`; makes the times plain: rounded, and never falling with size.
void tidy(DeviceRates& rates);

}  // namespace cleave::calibration
