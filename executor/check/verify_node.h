// Verify mode: compares one executed node, or a group that ran as one kernel, with the reference implementations of its operations.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "executor/arguments/bindings.h"
#include "executor/memory/fusion.h"
#include "executor/runtime.h"
#include "graph/array/precision.h"
#include "graph/graph.h"

namespace cleave::runtime {

/// In verify mode, calls `tell` before a node is checked. An Error if it throws.
Status announce_check(const Graph& graph, NodeId node, const std::function<void(std::string_view, double)>& tell);
/// The precision in which a device computes a node that is a matrix product of f32. Null: f32 for all.
using PrecisionOf = std::function<Precision(NodeId)>;

/// The results of an operation by its reference implementation. A host function is called once more, within `limits`.
Result<std::vector<Array>> reference_results(const Graph& graph, const BoundAttributes& bound, NodeId id, std::span<const Array> inputs,
                                             const CallLimits* limits = nullptr);

/// The Error of verify mode for a node whose kernel disagrees with the reference implementation; nullopt if they agree. `results` were
/// computed from `inputs`. A host function is called once more, within `limits`. A product in less precision than f32 may differ by the
/// effect of rounding its operands.
std::optional<Error> check_against_reference(const Graph& graph, const BoundAttributes& bound, NodeId node, std::span<const Array> inputs,
                                             std::span<const Array> results, const CallLimits* limits = nullptr,
                                             const PrecisionOf& precision = nullptr);
/// The same for a group that ran as one kernel: the Error names the first node whose result differs.
std::optional<Error> check_against_references(const Graph& graph, const BoundAttributes& bound, const FusionGroup& group,
                                              std::span<const Array> inputs, std::span<const Array> results,
                                              const PrecisionOf& precision = nullptr);

}  // namespace cleave::runtime
