// Kernel: a fast implementation of an operation on raw memory, and the call that it gets. A device has one table of them, keyed by OpDef.
// Knows no device: host kernels and the simulated accelerator's are the same functions on different memory.
#pragma once

#include <span>

#include "graph/op.h"

namespace cleave::runtime {

/// A row-major tensor somewhere in memory that the kernel may touch.
struct TensorView {
  const TensorType* type = nullptr;
  std::byte* data = nullptr;

  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

struct KernelCall {
  const OpDef& op;
  const Attributes& attributes;
  std::span<const TensorView> inputs;
  std::span<const TensorView> results;  ///< contents undefined before; element-wise kernels may find a result on top of an input
  const OpContext& context;
};

using Kernel = Status (*)(const KernelCall& call);

/// The host's kernel for `op`: a fast one where the table has one, else `run_meaning`.
Kernel host_kernel(const OpDef& op);
/// Runs the op's meaning on the memory of the call.
Status run_meaning(const KernelCall& call);
/// `kernel`, with what it or a user's function throws as an Error.
Status run_guarded(Kernel kernel, const KernelCall& call);

}  // namespace cleave::runtime
