// The metrics of a program: the labels that it logs by `log("loss", loss)`, and the loops whose trips are the steps of a log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace cleave {

/// The labels that a program logs, each once, in program order.
std::vector<std::string> logged_labels(const Graph& graph);

/// The operations that log under a label.
std::vector<NodeId> logs_of(const Graph& graph, std::string_view label);

/// The loops whose trips are the steps of a log: the outermost ones among the loops whose body has a `log` of its own (one in an inner loop
/// does not count as the body's own). The last, smaller batch of `batches` stands behind its loop, in the loop around it: it does not make
/// that one a logging loop.
std::vector<NodeId> logging_loops(const Graph& graph);
/// The labels that are logged inside of `loops`.
std::vector<std::string> labels_inside(const Graph& graph, const std::vector<NodeId>& loops);

}  // namespace cleave
