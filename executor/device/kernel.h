// Kernel: a fast implementation of an operation on raw memory, and the call that it gets. A device has one table of them, keyed by OpDef.
// Knows no device: host kernels and the simulated accelerator's are the same functions on different memory.
#pragma once

#include <memory>
#include <span>

#include "executor/device/workers.h"
#include "executor/runtime.h"
#include "graph/op.h"
#include "partitioner/machine/kernel_request.h"

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
  const OpDef& op;  ///< of several that run as one: the last one's, and so its attributes
  const Attributes& attributes;
  std::span<const TensorView> inputs;
  std::span<const TensorView> results;  ///< contents undefined before; element-wise kernels may find a result on top of an input
  const OpContext& context;
  Workers& workers = Workers::none();
  /// By input: whether its elements are the same in all calls that find it at the same place, as weights are, so that what was made of them
  /// may be kept. Empty: none's.
  std::span<const std::uint8_t> kept = {};

  [[nodiscard]] bool keeps(std::size_t input) const { return input < kept.size() && kept[input] != 0; }
};

using Kernel = Status (*)(const KernelCall& call);

/// A kernel with everything made once that its calls share.
class HostKernel {
 public:
  HostKernel() = default;
  HostKernel(const HostKernel&) = delete;
  HostKernel& operator=(const HostKernel&) = delete;
  virtual ~HostKernel() = default;
  /// One call at a time.
  virtual Status run(const KernelCall& call) = 0;
};

/// The host's kernel for `op`: a fast one where the table has one, else `run_meaning`.
Kernel host_kernel(const OpDef& op);
/// The fastest that the host has for such calls, whose ranges are not read. Several steps: only what `host_fuses`.
std::unique_ptr<HostKernel> prepare_host_kernel(const KernelRequest& request);
/// Whether the host runs these steps as one kernel.
bool host_fuses(const KernelRequest& request);

/// Runs the op's meaning on the memory of the call.
Status run_meaning(const KernelCall& call);
/// `kernel`, with what it or a user's function throws as an Error.
Status run_guarded(Kernel kernel, const KernelCall& call);
Status run_guarded(HostKernel& kernel, const KernelCall& call);

}  // namespace cleave::runtime
