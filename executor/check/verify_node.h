// Verify mode: one executed node, or a group that ran as one kernel, against the meanings of its operations.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "executor/arguments/bindings.h"
#include "executor/memory/fusion.h"
#include "executor/runtime.h"
#include "graph/graph.h"

namespace cleave::runtime {

/// Verifying, before a node is checked: tells whoever listens. An Error if that throws.
Status announce_check(const Graph& graph, NodeId node, const std::function<void(std::string_view, double)>& tell);
/// What verify mode says of a node whose kernel and meaning disagree; nothing if they agree. `results` were computed from `inputs`. A host
/// function is called once more, within `limits`.
std::optional<Error> check_against_meaning(const Graph& graph, const BoundAttributes& bound, NodeId node, std::span<const Array> inputs,
                                           std::span<const Array> results, const CallLimits* limits = nullptr);
/// The same of a group that ran as one kernel: names the first node whose result differs.
std::optional<Error> check_against_meanings(const Graph& graph, const BoundAttributes& bound, const FusionGroup& group,
                                            std::span<const Array> inputs, std::span<const Array> results);

}  // namespace cleave::runtime
