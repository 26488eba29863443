// What follows a successful run: files, outputs, one line of summary; with --json the document of docs/guide/running.md.
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

/// What --verify compared: counted as it goes, and on a terminal shown, as large nodes take minutes.
class Verified {
 public:
  /// A node before it is checked; from any of the executor's threads.
  void tell(std::string_view name, double operations, StatusLine& line);

  std::int64_t executions = 0;

 private:
  std::mutex mutex_;  // host and accelerator are verified at once
  std::chrono::steady_clock::time_point shown_;
};

class RunReport {
 public:
  RunReport(const Plan& plan, const Options& options, std::string device);

  /// One run's result; outputs are those of the last.
  void add(RunResult result);
  void add(const Verified& verified) { verified_ = &verified; }
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
  std::vector<double> seconds_, simulated_seconds_;  ///< of each run
  const Verified* verified_ = nullptr;
};

}  // namespace cleave::cli
