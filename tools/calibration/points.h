// How calibration measures, the same for host and accelerator: one time, often enough; a table of them; what is made of tables. Knows no
// device.
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
/// Of the processor, by the whole process: what one thread takes however busy the machine is.
double processor_time();

inline constexpr double kShareOfHost = 0.45;  ///< of the time, where an accelerator is measured too

/// Of the processor, by the calling thread.
double thread_time();

/// Which share of a core the calling thread has had since this was made: less than 1 where it waited for the processor, or for others.
class CoreShare {
 public:
  CoreShare() : begun_(now()), had_(thread_time()) {}
  [[nodiscard]] double value() const { return std::min(1.0, (thread_time() - had_) / std::max(now() - begun_, 1e-9)); }

 private:
  double begun_, had_;  ///< seconds
};

/// The median of the faster half: what is slower was disturbed. Of at least one time.
double undisturbed(std::vector<double> times);
/// Whether the faster half is close together.
bool stable(std::vector<double> times);

/// What a clock of the host measures well.
inline constexpr double kLongEnough = 1e-4;
/// A call of so many seconds is made twice at most: further repetitions would tell little.
inline constexpr double kTwiceIsEnough = 0.5;

/// Seconds of a call, from groups of calls of at least `group_seconds`, until they agree or have taken `budget` three times. `calls(n)`
/// makes n calls and gives a Status; one warms up.
template <class F>
Result<double> seconds_of_call(double budget, F&& calls, Clock clock = now, double group_seconds = kLongEnough) {
  double before = clock();
  if (Status status = calls(1); !status) return status.error();
  if (const double warming = clock() - before; warming > kTwiceIsEnough) {
    before = clock();
    if (Status status = calls(1); !status) return status.error();
    return std::min(warming, clock() - before);
  }
  if (clock() - before < 0.1 * budget) {  // the first one may have made memory or woken threads
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

/// What operands hold: numbers of `type` between 0 and 1, or small whole ones; else what
/// `contents` says (indices are i32; of matrices, those that begin `offset` bytes before `data`).
void fill(std::byte* data, DType type, std::int64_t bytes, const Contents& contents = {}, std::int64_t offset = 0);

/// Says how far calibration is, and when it has to come to an end.
class Course {
 public:
  Course(const CalibrationOptions& options, double seconds);
  /// `part` of what this is about is done.
  void say(std::string_view what, double part) const;
  /// Whether less than so many seconds are left.
  [[nodiscard]] bool late(double left = 0) const { return now() > end_ - left; }

 private:
  const CalibrationOptions& options_;
  double end_;
};

/// Fills `rates.points[table.key()]`. `seconds_of` gives nothing where memory is short: the table ends there, as it does where the next
/// size would take very long. `added`: seconds of each call that are not measured. What was measured before counts where it is less.
using SecondsOf = std::function<Result<std::optional<double>>(const Sample&, const Table&)>;
Status measure_table(const Table& table, const SecondsOf& seconds_of, double added, DeviceRates& rates);

/// The rates that the tables of `add` and `matmul` give; and what was measured as plain times that never fall with size, rounded.
void tidy(DeviceRates& rates);

}  // namespace cleave::calibration
