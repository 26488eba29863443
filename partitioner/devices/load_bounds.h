// Lower bounds on the load of the busiest device, for any assignment of groups to devices.
#pragma once

#include "partitioner/devices/load_graph.h"

namespace cleave::planner {

/// All work spread over all devices without transfers: the value of a linear program, by its dual.
double load_bound(const LoadGraph& graph);

/// For each group the least load of a device that has it: its work, that of whatever is with it, and the transfers in and out, one exact
/// cut a group; at most what the host would take. Then pairs of groups whose least common load exceeds L, which are on different devices
/// at L: one more such groups than accelerators, that the host cannot take either, refute L. `known` is the load of a known assignment;
/// the search ends where the bound reaches it, or at `budget` visited vertices and arcs.
double cut_bound(const LoadGraph& graph, double known, double budget);

}  // namespace cleave::planner
