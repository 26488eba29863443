// SimulatedDevice: an accelerator that every machine has. It really computes its results, with the host's kernels on its own memory and
// threads; its times are those of the virtual clock. It reports errors where a real device would be silent.
#pragma once

#include <memory>
#include <vector>

#include "executor/device/device.h"
#include "executor/device/kernel.h"
#include "executor/device/memory_check.h"
#include "executor/device/peer_copies.h"
#include "executor/simulated/checked_memory.h"
#include "executor/simulated/coalesced_copies.h"
#include "executor/simulated/fault_injector.h"
#include "executor/simulated/streams.h"

namespace cleave::runtime {

class SimulatedDevice final : public Device, public MemoryCheck, public PeerCopies {
 public:
  SimulatedDevice(const ExecutorOptions& options, const Faults& faults);
  ~SimulatedDevice() override;

  Status allocate(std::int64_t bytes, std::span<const Range> kept) override;
  Result<std::byte*> allocate_staging(std::int64_t bytes) override;
  Result<KernelId> prepare(KernelRequest request) override;
  Status upload(Range to, const std::byte* from, bool page_locked) override;
  [[nodiscard]] std::int64_t measured_peak() const override { return memory_.raw().touched(); }

  Status begin_run(RunState& run) override;
  void end_run() override { streams_.end(); }
  void abort() override { streams_.abort(); }
  [[nodiscard]] bool lost() const override { return queue_.lost(); }
  Streams& streams() override { return streams_; }

  Status launch(KernelId kernel, const Origin& origin) override;
  Status copy_to_device(Range to, const std::byte* from, const Origin& origin) override;
  Status copy_to_host(std::byte* to, Range from, const Origin& origin) override;
  Status copy_inside(Range to, Range from, const Origin& origin) override;
  Status fill(Range to, std::int32_t value, const Origin& origin) override;

  CoalescedCopies* coalesced_copies() override { return &copies_; }
  MemoryCheck* memory_check() override { return this; }
  PeerCopies* peer_copies() override { return this; }
  Status copy_from(Range to, Device& source, Range from, const Origin& origin) override;
  Status discard(Range what, const Origin& origin) override;

 private:
  struct PreparedKernel {
    KernelRequest request;
    std::unique_ptr<HostKernel> kernel;
    std::vector<TensorView> views;  ///< inputs, then results
  };
  Status run_kernel(const PreparedKernel& prepared);

  const bool oom_;
  const Precision precision_;
  CheckedMemory memory_;
  std::vector<std::unique_ptr<std::byte[]>> staging_;
  std::vector<std::unique_ptr<PreparedKernel>> kernels_;
  std::shared_ptr<Workers> workers_;
  FaultInjector queue_;
  SimulatedCoalescedCopies copies_;
  SimulatedStreams streams_;  ///< last member: its threads use all members above
};

}  // namespace cleave::runtime
