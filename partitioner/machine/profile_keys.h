// ProfileKeys: the keys of observations in a Profile: statement paths, which stay valid when lines are inserted. Files of version 1 have
// line positions instead; they are still found if no line moved.
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

  /// The statement path of a source location, or "file:line:column" if the program has no statement there. Ill-formed UTF-8 is replaced,
  /// since JSON cannot hold it.
  [[nodiscard]] std::string of(const SourceLocation& place) const;
  /// The observation at a source location: a time, or its samples.
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

/// How much of a profile matches a program.
struct ProfileFit {
  std::size_t expected = 0, host_seconds = 0;              ///< entries of the profile
  std::size_t expected_there = 0, host_seconds_there = 0;  ///< number of these that the program has
  bool by_position = false;                                ///< whether an entry has a key of version 1
  std::size_t without_samples = 0;                         ///< times whose number of samples is unknown
  std::size_t preempted = 0;                               ///< times with preempted samples only
};
ProfileFit profile_fit(const Graph& graph, const Profile& profile);

/// Writes the fields of a summary into the open JSON object.
void write_json(JsonWriter& json, const SampleSummary& summary);

}  // namespace cleave
