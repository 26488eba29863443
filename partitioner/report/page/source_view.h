// The user's source with the cost of each line: source_view() chooses the files and lines that a page shows and the data in their margins.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/diagnostic.h"
#include "partitioner/plan.h"

namespace cleave::planner {

/// Predicted costs in a run.
struct LineCost {
  double host_seconds = 0, accelerator_seconds = 0, transfer_seconds = 0;
  double bytes_out = 0, bytes_back = 0;  ///< to the host, and to the accelerator
  /// Of operations in functions that this line calls and scopes that it enters. Sums do not include it.
  double called_seconds = 0;
  std::size_t operations = 0;  ///< 0: the line has no operation

  [[nodiscard]] double seconds() const { return host_seconds + accelerator_seconds + transfer_seconds; }
};

struct SourceLine {
  int number = 0;
  std::string text;
  LineCost cost;
  std::vector<std::size_t> round_trips;  ///< round trips that blame this line, as indices into the plan's
  std::vector<std::size_t> messages;     ///< indices into the view's `messages`
};

struct SourceFile {
  std::string name;
  bool read = false;              ///< false: the file could not be read, and lines have no text
  std::vector<SourceLine> lines;  ///< ascending; gaps between numbers are lines left out
};

struct SourceView {
  std::vector<SourceFile> files;
  Diagnostics messages;                      ///< folded, the costliest first
  std::size_t messages_left_out = 0;         ///< none of them is an error
  std::vector<std::size_t> placeless;        ///< messages of which no line is shown
  double most_seconds = 0;                   ///< of the costliest line
  std::size_t left_out = 0;                  ///< number of lines with costs that are not shown
  std::map<std::string, std::size_t> index;  ///< index of each file, by name

  /// The id of the line of `location`, or an empty string if it is not shown.
  [[nodiscard]] std::string line_id(const SourceLocation& location) const;
};

/// The id of a line: "line-1-42" for line 42 of the first file.
std::string line_id(std::size_t file, int line);

/// `round_trips`: the plan's round trips that the page shows.
SourceView source_view(const Plan& plan, std::span<const std::size_t> round_trips);

}  // namespace cleave::planner
