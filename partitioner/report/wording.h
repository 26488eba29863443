// Phrases that diagnostics and reports share, so that both use the same words.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"
#include "graph/written.h"
#include "partitioner/apply/program.h"
#include "partitioner/apply/round_trips.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"
#include "partitioner/machine/machine.h"

namespace cleave::planner {

/// "`weights`", or "the result of `matmul`" or "`w * w`" where the user gave no name.
std::string value_phrase(const Graph& graph, ValueId value);
/// "f32[2, 1], 8 B".
std::string type_phrase(const TensorType& type);
/// The name of a node in a message: an operator as it was written, "raw / 255".
std::string culprit_phrase(const Graph& graph, NodeId node);
/// "1000", "2.5".
std::string number(double value);
/// "1st", "2nd", "11th", "22nd".
std::string ordinal(std::size_t number);
/// "1 transfer", "3 transfers".
std::string counted(std::size_t count, const std::string& what);
/// "12:5"; empty if the line is unknown.
std::string place_phrase(const SourceLocation& location);
/// "once a run", "1000 times a run", "about 10 times a run (assumed)".
std::string times_phrase(const Graph& graph, RegionId region, double frequency);
/// The same for a message: "about 10 times a run, if the loop runs 10 times (assumed; `expect` says otherwise)".
std::string often_phrase(const Graph& graph, RegionId region, double frequency);
/// Why an operation has a host copy: "the accelerator has no kernel for it", "ONNX Runtime has no CUDA kernel for `Unique` (f32)", "that is
/// cheaper by the cost model".
std::string cause_phrase(Cause cause, const Node& node);
/// How accelerator work depends on the host's in a round trip: "accelerator work computes with the result".
std::string_view meaning_of(Via via);
/// "data: 5.2 ms a batch on 1 worker, step 4.0 ms".
std::string data_phrase(const ProducedData& data);
/// "machine `h200`, datasheet".
std::string machine_phrase(const Machine& machine);
/// "45 %".
std::string percent(double part, double whole);

/// True if the trip count or the probability of the region, or of one around it, is assumed.
bool any_assumed(const Graph& graph, RegionId region);

}  // namespace cleave::planner
