// RunOptions and RunResult: the arguments of one run, and its results.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/report/metrics.h"
#include "executor/report/timeline.h"
#include "graph/array/array.h"
#include "partitioner/machine/profile.h"

namespace cleave {

class RunProgress;  // executor/report/progress.h

/// Where a run that saved its states on the way stood (CompileOptions::save).
struct SavedPosition {
  std::int64_t trip = 0;  ///< trips of the program's outermost loop that were done
  std::int64_t step = 0;  ///< steps that had been logged (executor/report/metrics.h)
  double seconds = 0;     ///< wall clock
};

struct RunOptions {
  std::map<std::string, Array>
      inputs;  ///< by name, inputs and parameters alike; a missing one takes the model's default data or is an Error
  /// Arrays into which outputs are written in place, by name: RunResult returns the same arrays. A device accesses page-locked ones
  /// (page_locked.h) directly. Their contents are undefined after a failed run. Where the size of an output depends on data, its array has
  /// the largest possible size, and RunResult returns the valid elements.
  std::map<std::string, Array> results;
  std::function<void(std::string_view)> print;  ///< a line of `print`; null: standard output
  /// Called with each output as soon as the host has its value, which may be long before the end of the run; from one of the executor's
  /// threads. A run that fails gives only the outputs that came before the failure. May be null.
  std::function<void(std::string_view name, const Array& array)> on_output;
  /// Called with the numbers that the program logs, `log("loss", loss)`, once for each step, when its trip has ended; in program order,
  /// from one of the executor's threads. May be null.
  std::function<void(const LoggedStep& step)> on_log;
  std::int64_t first_step = 0;  ///< the number of the run's first step
  /// A logged NaN ends the run. The Error has the line of the first operation that made a NaN: the program runs a second time, with every
  /// operation checked, and without printing or logging.
  bool stop_on_nan = false;
  bool verify = false;  ///< computes every node a second time by its reference implementation; the first difference is an Error at its line
  /// With `verify`: called before each node is checked, with the number of operations of the check; from any of the executor's threads. May
  /// be null.
  std::function<void(std::string_view name, double operations)> on_verify;
  /// Records the progress of the run for readers on other threads; must outlive the run. Null: no progress is recorded.
  RunProgress* progress = nullptr;
  bool timeline = false;  ///< fill RunResult::timeline; an accelerator with a real clock measures times, at some cost
  /// Receives the events of RunResult::timeline while they happen, also of a run that fails; for runs that are too long to keep them all.
  /// May be null.
  TimelineSink on_timeline;
  bool observe = false;  ///< fill RunResult::observed
  /// The run continues within the outermost loop, where one that was saved on the way stood; for programs that are compiled for it.
  std::optional<SavedPosition> position = std::nullopt;
  /// When stop is requested, the run ends soon, also in the middle of an operation, with the Error "cancelled"; a host function under way
  /// is not interrupted.
  std::stop_token stop = {};
};

struct TransferCount {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

struct RunResult {
  std::vector<std::pair<std::string, Array>> outputs;      ///< in the graph's order, each of the size that it has in this run
  std::vector<std::pair<std::string, Array>> counts;       ///< extents of outputs that depend on data: `NAME.count`, an integer scalar
  TransferCount host_to_accelerator, accelerator_to_host;  ///< executed transfers, each value counted once for each execution
  TransferCount between_accelerators;                      ///< those that do not pass the host
  double seconds = 0;                                      ///< wall clock
  std::int64_t steps = 0;                                  ///< RunOptions::first_step of a run that numbers its steps on from this one's
  double simulated_seconds = 0;                            ///< virtual clock; 0 without a simulated device
  Timeline timeline;
  Profile observed;
  /// Diagnostics of the run itself: an error if its time differs from the predicted one by more than the program's
  /// `limits.prediction_error`. Empty without that limit, and for the first run of an Executable on a real clock, which still prepares
  /// memory.
  Diagnostics diagnostics = {};

  /// The output or count of that name, or null.
  [[nodiscard]] const Array* output(std::string_view name) const {
    for (const auto* list : {&outputs, &counts})
      for (const auto& [known, array] : *list)
        if (known == name) return &array;
    return nullptr;
  }
};

}  // namespace cleave
