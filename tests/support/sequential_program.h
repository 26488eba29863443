// A deliberately simple executor: it executes the steps of a Program one by one in their global order, on one thread, with a separate set
// of values for each device. A value that a device reads must be present there; transfers are counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "executor/run/executor.h"
#include "partitioner/apply/program.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

struct SequentialRun {
  std::vector<Array> outputs;
  std::vector<std::int64_t> moved;              ///< number of transfers per channel
  IdVector<RegionId, std::int64_t> executions;  ///< number of executions per region
  std::vector<std::string> complaints;          ///< errors found: values read but not present, channels not empty when they should be, …
};

/// Returns an Error if the program itself fails (a host function, an index out of range).
Result<SequentialRun> run_sequentially(const Program& program, const RunOptions& options);

}  // namespace cleave::testing
