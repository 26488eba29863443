// RoundedProduct: matrix products of f32 as accelerators compute them in tf32 or bf16: operands are rounded to the format's mantissa (to
// nearest, ties to even), products and sums are in f32. Knows no memory and no streams.
#pragma once

#include "executor/device/kernel.h"
#include "graph/array/precision.h"
#include "graph/graph.h"

namespace cleave::runtime::simulated {

/// Whether a node is a matrix product of f32.
bool in_precision(const Graph& graph, NodeId node);
/// The kernel for a request: the host's kernel, or, for products that the precision applies to, one that rounds the operands first.
std::unique_ptr<HostKernel> kernel_in(Precision precision, const KernelRequest& request);

}  // namespace cleave::runtime::simulated
