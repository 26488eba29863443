// The keys under which a Profile keeps what was observed at a place in the program: statement paths, which outlive inserted lines. Files of
// version 1 have positions instead; they are still found, where no line moved.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "graph/base/json_writer.h"
#include "graph/statement_paths.h"
#include "partitioner/machine/profile.h"

namespace cleave {

class ProfileKeys {
 public:
  explicit ProfileKeys(const Graph& graph) : paths_(graph) {}

  /// The path; "file:line:column" where the program has no statement there. As a file of JSON can hold it: a path may be of any bytes.
  [[nodiscard]] std::string of(const SourceLocation& place) const;
  /// What was observed there: a time, or its samples.
  template <class T>
  [[nodiscard]] std::optional<T> find(const std::map<std::string, T>& observed, const SourceLocation& place) const {
    if (observed.empty() || !place.known()) return std::nullopt;
    auto found = observed.find(of(place));
    if (found == observed.end()) found = observed.find(position_key(place));
    return found == observed.end() ? std::nullopt : std::optional<T>(found->second);
  }
  /// "file:line:column", the key of version 1.
  [[nodiscard]] static std::string position_key(const SourceLocation& place);

 private:
  StatementPaths paths_;
};

/// How much of a profile a program has.
struct ProfileFit {
  std::size_t expected = 0, host_seconds = 0;              ///< entries
  std::size_t expected_there = 0, host_seconds_there = 0;  ///< of these, such as the program has
  bool by_position = false;                                ///< an entry is of version 1
  std::size_t without_samples = 0;                         ///< times of which nobody knows how many samples they are of
  std::size_t preempted = 0;                               ///< times of preempted samples alone
};
ProfileFit profile_fit(const Graph& graph, const Profile& profile);

/// The fields of a summary, into an object that is open.
void write_json(JsonWriter& json, const SampleSummary& summary);

}  // namespace cleave
