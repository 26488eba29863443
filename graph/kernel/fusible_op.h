// is_fusible(): which operations may be in a fused kernel at all.
#pragma once

#include "graph/graph.h"

namespace cleave::kernels {

/// Whether an operation may be in a fused kernel on a side: it is pure, has one result, and does not certainly run elsewhere (as do
/// effects, host functions and transfers to the other side).
bool is_fusible(const Graph& graph, NodeId id, DeviceId side);

/// No device has a kernel with more element-wise operations and reductions.
inline constexpr std::size_t kMostFusedSteps = 32;

/// Whether an operation counts in `kMostFusedSteps`.
bool computes_step(const OpDef& op);

/// Whether an operation computes nothing, so that readers of its result could read its one operand with other indices instead.
bool only_moves(const Graph& graph, NodeId id);

}  // namespace cleave::kernels
