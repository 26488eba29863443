// Profile: times, trip counts and probabilities observed in earlier runs of a program, which replace modeled and assumed ones (`run
// --profile FILE`, `--use-profile FILE`).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "graph/base/result.h"
#include "graph/graph.h"

namespace cleave {

/// The samples behind an observed time. A sample counts as preempted where the operating system took the processor from its thread for more
/// than 5 % of its time. Such samples are rejected; if all samples were preempted, `count` is 0 and the fastest one is used.
struct SampleSummary {
  std::int64_t count = 0;      ///< samples that were kept
  double minimum = 0;          ///< seconds
  double spread = 0;           ///< seconds: the median absolute deviation from the median
  std::int64_t preempted = 0;  ///< samples that were rejected

  friend bool operator==(const SampleSummary&, const SampleSummary&) = default;
};

/// Observed trip counts, probabilities and times, keyed by the statement path of the control node or op (graph/statement_paths.h).
struct Profile {
  std::map<std::string, double> expected;      ///< statement path of a loop or branch -> trip count, or probability of `then`
  std::map<std::string, double> host_seconds;  ///< statement path of an operation on the host -> median of the times of single executions
  /// Statement path of the producer of a transferred value -> median of the times of single copies; recorded if the run kept a timeline.
  /// For comparison only.
  std::map<std::string, double> transfer_seconds = {};
  /// The samples behind the medians above. A time without an entry is from a file of an earlier version, which stored only means.
  std::map<std::string, SampleSummary> host_samples = {}, transfer_samples = {};

  // A JSON file. Errors (file) name the path, and the line of the mistake.
  [[nodiscard]] Status save(const std::string& path) const;
  static Result<Profile> load(const std::string& path);
};

/// Merges the profiles of several runs: means of the expectations, medians of the medians, each weighted by its number of samples. A time
/// without samples counts as one sample.
Profile merge_profiles(std::span<const Profile> profiles);

/// The graph with observed expectations instead of assumed or known ones.
Graph apply_profile(const Graph& graph, const Profile& profile);

}  // namespace cleave
