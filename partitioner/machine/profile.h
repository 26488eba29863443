// Profile: what earlier runs of a program observed, in place of what would be assumed (`run --profile FILE`, `--use-profile FILE`).
#pragma once

#include <map>
#include <string>

#include "graph/base/result.h"
#include "graph/graph.h"

namespace cleave {

/// Observed trips, probabilities and times, keyed by the statement path of the control node or op (graph/statement_paths.h).
struct Profile {
  std::map<std::string, double> expected;      ///< statement path of a loop or branch -> trips or probability of `then`
  std::map<std::string, double> host_seconds;  ///< of an op on the host, a time a single execution took
  /// Of whatever made a value that moved between devices: what one copy took, where the run kept a timeline. For comparison only.
  std::map<std::string, double> transfer_seconds = {};

  // A JSON file. Errors (file) name the path.
  [[nodiscard]] Status save(const std::string& path) const;
  static Result<Profile> load(const std::string& path);
};

/// The graph with observed in place of assumed or known expectations.
Graph apply_profile(const Graph& graph, const Profile& profile);

}  // namespace cleave
