// Save points: Graph to Graph. The program hands its states to a function of the caller after every N trips of its outermost loop, and can
// begin in the middle of that loop, where a run that did so stood. What is added are ordinary operations: a number of trips to leave out, a
// branch in the body of the loop, and a call of a host function in it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace cleave {

/// Receives the values of SavePoints::values after `trips` trips of the loop, on the thread of host functions.
struct SaveHook {
  std::function<Status(std::int64_t trips, std::span<const Array> values)> save;
  bool saved = false;  ///< whether it was called in any run
};

struct SavePoints {
  Graph graph;
  /// The names of what is saved: the states, and the other values that the loop carries, under `carried:NAME`. Each is the name of an input
  /// or parameter of the graph, with whose value a run goes on.
  std::vector<std::string> values;
  /// The values after the loop's last trip are the states after the run.
  bool ends_with_loop = false;
  std::shared_ptr<SaveHook> hook;
};

/// The parameter with the number of trips that a run leaves out, an i32 scalar; 0 without a value.
inline constexpr std::string_view kTripsDone = "trips done";
/// Begins the names of carried values that are no states.
inline constexpr std::string_view kCarriedName = "carried:";
/// The number of trips with which a run leaves out the whole loop.
inline constexpr std::int64_t kAllTrips = 0x7fffffff;

/// `every`: trips after which the states are saved, also after the last one; 0: they are not, but a run can begin in the middle. The graph
/// has no calls of `gradient` any more. An Error (usage) for a program without states or loops, and (user), at the loop's line, for one
/// whose outermost loop does not carry all states, or that has values which follow from a state and are computed before the loop but used
/// in it or behind it: a run that begins in the middle could not have them.
Result<SavePoints> add_save_points(const Graph& graph, std::int64_t every);

/// The loop in whose middle a run of the graph can begin; invalid: none.
NodeId continued_loop(const Graph& graph);

}  // namespace cleave
