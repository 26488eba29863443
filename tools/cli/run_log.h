// RunLog: where `cleave run` puts the numbers that a program logs: `--log`, `--tensorboard`, and the progress line.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "executor/arguments/run_options.h"
#include "executor/report/event_file.h"
#include "executor/report/log_csv.h"
#include "partitioner/compile.h"
#include "tools/cli/options.h"

namespace cleave::cli {

class RunLog {
 public:
  /// Creates the files. `position`: where the run goes on that was saved on the way. An Error (file) if one cannot be written.
  static Result<std::unique_ptr<RunLog>> create(const Options& options, const Plan& plan, const std::optional<SavedPosition>& position);

  /// Whether the numbers go anywhere.
  [[nodiscard]] bool wanted() const { return csv_ || events_ || shown_; }
  /// Writes a step to the files. False if that fails.
  bool add(const LoggedStep& step);
  /// The first Error of writing.
  [[nodiscard]] const Status& written() const { return written_; }
  /// Later runs begin where the runs before have ended.
  void end_run(double seconds) { seconds_before_ += seconds; }
  /// For the progress line: ", loss 0.25", the last step's numbers.
  [[nodiscard]] std::string text() const;

 private:
  Status write(const LoggedStep& step);
  explicit RunLog(bool shown) : shown_(shown) {}

  const bool shown_;  ///< on the progress line
  std::optional<LogCsv> csv_;
  std::optional<EventFile> events_;
  double seconds_before_ = 0;
  Status written_;
  mutable std::mutex mutex_;
  std::string last_;  ///< guarded by the mutex: the last step's numbers
};

/// For the progress line: ", 2 transfers a step", the planned transfers inside of the outermost loop with the most trips; empty without a
/// loop.
std::string transfers_of_step(const Plan& plan);

}  // namespace cleave::cli
