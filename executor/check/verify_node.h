// Verify mode: one executed node, or a group that ran as one kernel, against the meanings of its operations.
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

/// Verifying, before a node is checked: tells whoever listens. An Error if that throws.
Status announce_check(const Graph& graph, NodeId node, const std::function<void(std::string_view, double)>& tell);
/// In what a device computes a node that is a matrix product of f32. Null: all in f32.
using PrecisionOf = std::function<Precision(NodeId)>;

/// What verify mode says of a node whose kernel and meaning disagree; nothing if they agree. `results` were computed from `inputs`. A host
/// function is called once more, within `limits`. A product in less than f32 may be off by what rounding its operands does.
std::optional<Error> check_against_meaning(const Graph& graph, const BoundAttributes& bound, NodeId node, std::span<const Array> inputs,
                                           std::span<const Array> results, const CallLimits* limits = nullptr,
                                           const PrecisionOf& precision = nullptr);
/// The same of a group that ran as one kernel: names the first node whose result differs.
std::optional<Error> check_against_meanings(const Graph& graph, const BoundAttributes& bound, const FusionGroup& group,
                                            std::span<const Array> inputs, std::span<const Array> results,
                                            const PrecisionOf& precision = nullptr);

}  // namespace cleave::runtime
