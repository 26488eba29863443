// LogCsv: the numbers that a program logs as a CSV file: the columns `step` and `seconds`, and one for each label; a row for each step. A
// row is complete in the file as soon as its step has ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/report/metrics.h"
#include "graph/base/appended_file.h"
#include "graph/base/result.h"

namespace cleave {

class LogCsv {
 public:
  /// Writes the header. `from`: the step with which a run that continues begins: if the file is there, its rows of earlier steps stay. An
  /// Error (file) if it cannot be written, or if its columns are others.
  static Result<LogCsv> create(const std::string& path, const std::vector<std::string>& labels, std::optional<std::int64_t> from = {});
  Status add(const LoggedStep& step);

 private:
  LogCsv(AppendedFile file, std::vector<std::string> labels) : file_(std::move(file)), labels_(std::move(labels)) {}
  AppendedFile file_;
  std::vector<std::string> labels_;
};

}  // namespace cleave
