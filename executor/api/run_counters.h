// RunCounters: sums over a program's runs, for a service that monitors itself.
#pragma once

#include <string>
#include <string_view>

#include "executor/arguments/run_options.h"

namespace cleave {

/// Sums over the runs of one Executable in this process, since it was compiled.
struct RunCounters {
  std::int64_t succeeded = 0, failed = 0;  ///< runs that are over; a cancelled run has failed
  double seconds = 0;                      ///< wall clock of the successful runs, without waiting for their turn
  double waiting_seconds = 0;              ///< time that runs waited for their turn: in the queue, or for earlier runs with the same states
  /// The transfers of the successful runs.
  TransferCount host_to_accelerator, accelerator_to_host;
};

/// The counters in Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats), version 0.0.4, with the label
/// `program`:
///
///   # HELP cleave_runs_total Runs that are over.
///   # TYPE cleave_runs_total counter
///   cleave_runs_total{program="mlp",outcome="success"} 12
std::string to_prometheus(const RunCounters& counters, std::string_view program);

}  // namespace cleave
