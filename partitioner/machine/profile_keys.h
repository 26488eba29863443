// The keys under which a Profile keeps what was observed at a place in the program: statement paths, which outlive inserted lines. Files of
// version 1 have positions instead; they are still found, where no line moved.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "graph/statement_paths.h"
#include "partitioner/machine/profile.h"

namespace cleave {

class ProfileKeys {
 public:
  explicit ProfileKeys(const Graph& graph) : paths_(graph) {}

  /// The path; "file:line:column" where the program has no statement there. As a file of JSON can hold it: a path may be of any bytes.
  [[nodiscard]] std::string of(const SourceLocation& place) const;
  /// What was observed there.
  [[nodiscard]] std::optional<double> find(const std::map<std::string, double>& observed, const SourceLocation& place) const;

 private:
  StatementPaths paths_;
};

/// How much of a profile a program has.
struct ProfileFit {
  std::size_t expected = 0, host_seconds = 0;              ///< entries
  std::size_t expected_there = 0, host_seconds_there = 0;  ///< of these, such as the program has
  bool by_position = false;                                ///< an entry is of version 1
};
ProfileFit profile_fit(const Graph& graph, const Profile& profile);

}  // namespace cleave
