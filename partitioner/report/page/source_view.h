// The user's source with what each line costs: which files and lines a page shows, and what stands at their margin.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/diagnostic.h"
#include "partitioner/compile.h"

namespace cleave::planner {

/// Predicted, a run.
struct LineCost {
  double host_seconds = 0, accelerator_seconds = 0, transfer_seconds = 0;
  double bytes_out = 0, bytes_back = 0;  ///< to the host, to the accelerator
  double called_seconds = 0;             ///< of operations in what is called or entered here; part of no sum
  std::size_t operations = 0;            ///< 0: nothing of the program stands here

  [[nodiscard]] double seconds() const { return host_seconds + accelerator_seconds + transfer_seconds; }
};

struct SourceLine {
  int number = 0;
  std::string text;
  LineCost cost;
  std::vector<std::size_t> round_trips;  ///< that are blamed on this line: indices into those of the plan
  std::vector<std::size_t> messages;     ///< indices into those of the view
};

struct SourceFile {
  std::string name;
  bool read = false;              ///< false: it could not be, and lines have no text
  std::vector<SourceLine> lines;  ///< ascending; where numbers jump, lines were left out
};

struct SourceView {
  std::vector<SourceFile> files;
  Diagnostics messages;                      ///< folded, the costliest first
  std::size_t messages_left_out = 0;         ///< none of them an error
  std::vector<std::size_t> placeless;        ///< messages that no line shown has
  double most_seconds = 0;                   ///< of a line
  std::size_t left_out = 0;                  ///< lines with costs that are not shown
  std::map<std::string, std::size_t> index;  ///< of a file, by name

  /// The id of the line where `location` is, or nothing if it is not shown.
  [[nodiscard]] std::string line_id(const SourceLocation& location) const;
};

/// The id of a line: "line-1-42", of the first file's line 42.
std::string line_id(std::size_t file, int line);

/// `round_trips`: those of the plan that the page has.
SourceView source_view(const Plan& plan, std::span<const std::size_t> round_trips);

}  // namespace cleave::planner
