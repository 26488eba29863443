// Output after a successful run: files, outputs, one line of summary; with --json the document of docs/guide/running.md.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "executor/arguments/run_options.h"
#include "partitioner/compile.h"
#include "tools/cli/session.h"
#include "tools/cli/terminal.h"

namespace cleave::cli {

/// Counts the executions that --verify compared, and shows them on a terminal, since large nodes take minutes.
class Verified {
 public:
  /// Counts a node before it is checked; may be called from any of the executor's threads.
  void tell(std::string_view name, double operations, StatusLine& line);

  std::int64_t executions = 0;

 private:
  std::mutex mutex_;  // host and accelerator verify concurrently
  std::chrono::steady_clock::time_point shown_;
};

class RunReport {
 public:
  RunReport(const Plan& plan, const Options& options, std::string device);

  /// Adds the result of one run; the outputs of the last one are reported.
  void add(RunResult result);
  void add(const Verified& verified) { verified_ = &verified; }
  /// Checks the program's limit `prediction_error`; its errors are also part of the --json document. Of several runs, the median is
  /// compared; on a real clock without the first run, which warms up memory.
  const Diagnostics& check_prediction();
  [[nodiscard]] Status deliver(const Console& console) const;

 private:
  [[nodiscard]] Status write_files() const;
  [[nodiscard]] std::string json() const;
  void print(const Console& console) const;
  void note(const Console& console) const;
  void note_run(const Console& console) const;

  const Plan& plan_;
  const Options& options_;
  std::string device_;
  std::optional<RunResult> last_;
  std::vector<double> seconds_, simulated_seconds_;  ///< one for each run
  Diagnostics exceeded_;                             ///< set by check_prediction()
  std::vector<Profile> observed_;                    ///< one for each run, or merged from several
  const Verified* verified_ = nullptr;
};

}  // namespace cleave::cli
