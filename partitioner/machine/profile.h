// Profile: what earlier runs of a program observed, in place of what would be assumed (`run --profile FILE`, `--use-profile FILE`).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "graph/base/result.h"
#include "graph/graph.h"

namespace cleave {

/// The samples behind an observed time. A sample counts as preempted where the operating system took the processor from its thread for more
/// than 5 % of its time. Such samples are rejected; where no other was taken, `count` is 0, and the fastest of them stands for all.
struct SampleSummary {
  std::int64_t count = 0;      ///< samples that were kept
  double minimum = 0;          ///< seconds
  double spread = 0;           ///< seconds: the median absolute deviation from the median
  std::int64_t preempted = 0;  ///< samples that were rejected

  friend bool operator==(const SampleSummary&, const SampleSummary&) = default;
};

/// Observed trips, probabilities and times, keyed by the statement path of the control node or op (graph/statement_paths.h).
struct Profile {
  std::map<std::string, double> expected;      ///< statement path of a loop or branch -> trips or probability of `then`
  std::map<std::string, double> host_seconds;  ///< of an op on the host, the median of the times that single executions took
  /// Of whatever made a value that moved between devices: the median of what single copies took, where the run kept a timeline. For
  /// comparison only.
  std::map<std::string, double> transfer_seconds = {};
  /// What the times above are medians of. A time without an entry is of a file of an earlier version, which had means alone.
  std::map<std::string, SampleSummary> host_samples = {}, transfer_samples = {};

  // A JSON file. Errors (file) name the path, and the line of what is wrong.
  [[nodiscard]] Status save(const std::string& path) const;
  static Result<Profile> load(const std::string& path);
};

/// One profile of those of several runs: means of what was expected, medians of the medians, each with the weight of its samples. A time
/// without samples counts as one.
Profile merge_profiles(std::span<const Profile> profiles);

/// The graph with observed in place of assumed or known expectations.
Graph apply_profile(const Graph& graph, const Profile& profile);

}  // namespace cleave
