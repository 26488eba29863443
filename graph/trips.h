// Trip counts, their bounds, and the trips made ahead, as the program states them before it runs.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace cleave {

/// Whether each execution of the loop has at least one iteration: a `for` with a known count of 1 or more.
[[nodiscard]] inline bool has_trip(const Node& loop) {
  return loop.kind == NodeKind::for_loop && loop.inputs.empty() && loop.attributes.get_or<std::int64_t>("count", 0) > 0;
}

/// The largest number of trips that the program allows: more are an Error of the run. Nothing if it states none.
[[nodiscard]] inline std::optional<std::int64_t> most_trips(const Node& loop) {
  const auto* bound = loop.attributes.get_if<std::int64_t>("at_most");
  return bound ? std::optional(*bound) : std::nullopt;
}

/// The trips of a `for` whose data may be made ahead on worker threads where the program states no number.
inline constexpr std::int64_t kPrefetch = 2;
inline constexpr std::int64_t kMostPrefetch = 1024;

/// The number of trips of a `for` whose data may be made ahead on worker threads, as the program states it. 0: none. Nothing if it states
/// none.
[[nodiscard]] inline std::optional<std::int64_t> stated_prefetch(const Node& loop) {
  const auto* trips = loop.attributes.get_if<std::int64_t>("prefetch");
  return trips ? std::optional(*trips) : std::nullopt;
}

}  // namespace cleave
