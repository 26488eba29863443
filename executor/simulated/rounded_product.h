// Matrix products of f32 as accelerators compute them in tf32 or bf16: operands rounded to the format's mantissa, to nearest, ties to even;
// products and sums in f32. Knows no memory and no streams.
#pragma once

#include "executor/device/kernel.h"
#include "graph/array/precision.h"
#include "graph/graph.h"

namespace cleave::runtime::simulated {

/// Whether a node is a matrix product of f32.
bool in_precision(const Graph& graph, NodeId node);
/// The kernel for a request: the host's, or for products that the precision is about one that rounds first.
std::unique_ptr<HostKernel> kernel_in(Precision precision, const KernelRequest& request);

}  // namespace cleave::runtime::simulated
