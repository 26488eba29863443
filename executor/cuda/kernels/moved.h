// Moved: a result that is a view of its operand, and `build_copy`, the kernel that copies it. Shared by the families that only move
// elements.
#pragma once

#include "executor/cuda/kernels/kernels.h"
#include "graph/ops/strided.h"

namespace cleave::runtime::cuda {

/// The result's elements in row-major order are the elements of x that the view `from` gives over `shape`.
struct Moved {
  Shape shape;
  ops::View from;
};

/// The view with all elements in their order.
Moved same_order(const KernelRequest& request);

/// Copies a view in pieces as wide as its rows allow. If the view exchanges axes, it goes through tiles in shared memory, so that both
/// reads and writes are coalesced.
KernelSource build_copy(const KernelRequest& request, const Architecture& architecture, const Moved& moved);

/// A KernelBuilder for a row of the kernel table.
template <Moved (*view)(const KernelRequest&)>
KernelSource build_moved(const KernelRequest& request, const Architecture& architecture) {
  return request.result_types[0].elements() == 0 ? KernelSource{} : build_copy(request, architecture, view(request));
}

}  // namespace cleave::runtime::cuda
