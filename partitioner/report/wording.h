// Phrases that diagnostics and reports share, so that both say the same thing in the same words.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"
#include "partitioner/apply/round_trips.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"
#include "partitioner/machine/machine.h"

namespace cleave::planner {

/// "`weights`", or "the result of `matmul`" or "`w * w`" where the user gave no name.
std::string value_phrase(const Graph& graph, ValueId value);
/// "f32[2, 1], 8 B".
std::string type_phrase(const TensorType& type);
/// What a report calls a node: a host function's name, an op's name, else the user's name of the value.
std::string culprit_name(const Graph& graph, NodeId node);
/// The same for a message: an operator as it was written, "raw / 255".
std::string culprit_phrase(const Graph& graph, NodeId node);
/// "1000", "2.5".
std::string number(double value);
/// "1st", "2nd", "11th", "22nd".
std::string ordinal(std::size_t number);
/// "1 transfer", "3 transfers".
std::string counted(std::size_t count, const std::string& what);
/// "12:5"; nothing where the line is not known.
std::string place_phrase(const SourceLocation& location);
/// "once a run", "1000 times a run", "about 10 times a run (assumed)".
std::string times_phrase(const Graph& graph, RegionId region, double frequency);
/// The same for a message: "about 10 times a run, if the loop runs 10 times (assumed; `expect` says otherwise)".
std::string often_phrase(const Graph& graph, RegionId region, double frequency);
/// "the accelerator has no kernel for it", "ONNX Runtime has no CUDA kernel for `Unique` (f32)", "that is cheaper by the cost model": why
/// something has a host copy.
std::string cause_phrase(Cause cause, const Node& node);
/// How accelerator work depends on the host's in a round trip: "accelerator work computes with the result".
std::string_view meaning_of(Via via);
/// "machine `h200`, datasheet".
std::string machine_phrase(const Machine& machine);
/// "45 %".
std::string percent(double part, double whole);

/// True if the trips or the probability of the region, or of one around it, are assumed.
bool any_assumed(const Graph& graph, RegionId region);

}  // namespace cleave::planner
