// Fused kernels: several element-wise operations as one pass over memory.
#pragma once

#include <memory>

#include "executor/device/kernel.h"
#include "executor/host/moved_group.h"

namespace cleave::runtime::host {

/// Whether all steps are element-wise, on elements in the same order.
bool fuses_elementwise(const KernelRequest& request);
/// A kernel that computes a range of its elements at a time, on any thread, after `start`: a producer runs it on elements still in its
/// cache.
class PartKernel : public HostKernel {
 public:
  virtual void start(const KernelCall& call) = 0;
  virtual void run_part(const KernelCall& call, std::int64_t begin, std::int64_t end) = 0;
  /// Computes all elements.
  virtual void run_all(const KernelCall& call) = 0;
};
std::unique_ptr<PartKernel> prepare_parts(const MovedGroup& group);
/// The kernel of a group for which `fuses_elementwise` holds.
std::unique_ptr<HostKernel> prepare_fused(const MovedGroup& group);
/// One operation with one result as a group of one step.
KernelRequest as_steps(const KernelRequest& request);
/// The kernel of one element-wise operation with results written past the caches (past_cache.h), made as a group of one step.
std::unique_ptr<HostKernel> prepare_past_cache(const KernelRequest& request);

}  // namespace cleave::runtime::host
