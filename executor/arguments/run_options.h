// What one run is given and what it gives back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/report/timeline.h"
#include "graph/array/array.h"
#include "partitioner/machine/profile.h"

namespace cleave {

class RunProgress;  // executor/report/progress.h

struct RunOptions {
  std::map<std::string, Array> inputs;  ///< by name, inputs and parameters alike; the rest takes the model's default data or is an Error
  /// Arrays that outputs are written into, by name, in place: RunResult gives them back, and whoever shares one sees it. Page-locked ones
  /// (page_locked.h) are reached by the device directly. Undefined after a run that failed.
  std::map<std::string, Array> results;
  std::function<void(std::string_view)> print;  ///< a line of `print`; null: standard output
  /// Called with each output as soon as the host has its value, which may be long before the end of the run; from one of the executor's
  /// threads. A run that fails gives only the outputs that came before the failure. May be null.
  std::function<void(std::string_view name, const Array& array)> on_output;
  bool verify = false;  ///< computes every node a second time by its meaning; the first difference is an Error at its line
  /// With `verify`: called with each node before it is checked, and the number of operations that takes; from any of the executor's
  /// threads. May be null.
  std::function<void(std::string_view name, double operations)> on_verify;
  /// Told how far the run is as it goes, and read by whoever wants to know; outlives the run. Null: nobody looks.
  RunProgress* progress = nullptr;
  bool timeline = false;  ///< fill RunResult::timeline; an accelerator that has a clock takes the times, at some cost
  /// What RunResult::timeline would hold, told while it happens, also of a run that fails; for runs that are too long to keep it. May be
  /// null.
  TimelineSink on_timeline;
  bool observe = false;  ///< fill RunResult::observed
  /// Asked to stop, the run ends soon, also in the middle of an operation, with the Error "cancelled"; what a host function does is not
  /// interrupted.
  std::stop_token stop = {};
};

struct TransferCount {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

struct RunResult {
  std::vector<std::pair<std::string, Array>> outputs;      ///< in the graph's order
  TransferCount host_to_accelerator, accelerator_to_host;  ///< what really moved, each executed value transfer once
  double seconds = 0;                                      ///< wall clock
  double simulated_seconds = 0;                            ///< virtual clock; 0 where no device simulates
  Timeline timeline;
  Profile observed;
  /// What the run itself gives reason to say: an error where its time differs from the predicted one by more than `limits.prediction_error`
  /// of the program. Without that limit, and of the first run of an Executable on a real clock, which readies memory, nothing.
  Diagnostics diagnostics = {};

  /// The output of that name, or null.
  [[nodiscard]] const Array* output(std::string_view name) const {
    for (const auto& [known, array] : outputs)
      if (known == name) return &array;
    return nullptr;
  }
};

}  // namespace cleave
