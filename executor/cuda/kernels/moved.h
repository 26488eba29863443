// Moved: results that are another view of their operand, and the kernel that copies it. Shared by the families that only move elements.
#pragma once

#include "executor/cuda/kernels/kernels.h"
#include "graph/ops/strided.h"

namespace cleave::runtime::cuda {

/// The result's elements in row-major order are those of x that `from` leads to along `shape`.
struct Moved {
  Shape shape;
  ops::View from;
};

/// The elements in their order.
Moved same_order(const KernelRequest& request);

/// Copies a view in pieces as wide as its rows allow; where it exchanges axes, through tiles in shared memory, so that reading and writing
/// both go along neighbours.
KernelSource build_copy(const KernelRequest& request, const Architecture& architecture, const Moved& moved);

/// For a row of the kernel table.
template <Moved (*view)(const KernelRequest&)>
KernelSource build_moved(const KernelRequest& request, const Architecture& architecture) {
  return request.result_types[0].elements() == 0 ? KernelSource{} : build_copy(request, architecture, view(request));
}

}  // namespace cleave::runtime::cuda
