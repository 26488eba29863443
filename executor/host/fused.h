// Several element-wise operations as one pass over memory.
#pragma once

#include <memory>

#include "executor/device/kernel.h"
#include "executor/host/moved_group.h"

namespace cleave::runtime::host {

/// Whether all steps are element-wise, on elements in one order.
bool fuses_elementwise(const KernelRequest& request);
/// A kernel that does part of its elements at a time, from any thread, after `start`: while they still lie in the caches.
class PartKernel : public HostKernel {
 public:
  virtual void start(const KernelCall& call) = 0;
  virtual void run_part(const KernelCall& call, std::int64_t begin, std::int64_t end) = 0;
  /// All of them.
  virtual void run_all(const KernelCall& call) = 0;
};
std::unique_ptr<PartKernel> prepare_parts(const MovedGroup& group);
/// The kernel of such steps.
std::unique_ptr<HostKernel> prepare_fused(const MovedGroup& group);
/// One operation with one result as a group of one step.
KernelRequest as_steps(const KernelRequest& request);
/// Of one element-wise operation whose results go past the caches, which such groups know how to do.
std::unique_ptr<HostKernel> prepare_past_cache(const KernelRequest& request);

}  // namespace cleave::runtime::host
