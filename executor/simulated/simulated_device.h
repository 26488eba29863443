// SimulatedDevice: an accelerator that every machine has. It really computes its results, with the host's kernels on its own memory and
// threads; its times are those of the virtual clock. It reports errors where a real device would be silent.
#pragma once

#include <memory>
#include <vector>

#include "executor/device/device.h"
#include "executor/device/kernel.h"
#include "executor/simulated/faults.h"
#include "executor/simulated/memory.h"
#include "executor/simulated/streams.h"

namespace cleave::runtime {

class SimulatedDevice final : public Device {
 public:
  static Result<std::unique_ptr<Device>> open(const ExecutorOptions& options, const Faults& faults);
  ~SimulatedDevice() override;

  Status allocate(std::int64_t bytes) override;
  Result<std::byte*> allocate_staging(std::int64_t bytes) override;
  Result<KernelId> prepare(KernelRequest request) override;
  Result<PiecesId> prepare_pieces(std::vector<Piece> pieces, Stream stream) override;
  Status upload(Range to, const std::byte* from, bool) override;
  Status begin_run(RunState& run) override;
  void end_run() override { streams_->end(); }

  Status launch(KernelId kernel, const Origin& origin) override;
  Status copy_to_device(Range to, const std::byte* from, const Origin& origin) override;
  Status copy_to_host(std::byte* to, Range from, const Origin& origin) override;
  Status copy_to_device(PiecesId to, const std::byte* from, const Origin& origin) override;
  Status copy_to_host(std::byte* to, PiecesId from, const Origin& origin) override;
  Status copy_inside(Range to, Range from, const Origin& origin) override;
  Status fill(Range to, std::int32_t value, const Origin& origin) override;
  Status discard(Range what, const Origin& origin) override;
  Event record(Stream stream) override { return streams_->record(stream); }
  Status wait(Stream stream, Event event) override;
  Status synchronize(Event event) override { return streams_->synchronize(event); }
  [[nodiscard]] bool passed(Event event) override { return streams_->passed(event); }
  void abort() override { streams_->abort(); }

  [[nodiscard]] bool lost() const override { return lost_; }
  [[nodiscard]] bool simulated() const override { return true; }
  [[nodiscard]] const std::byte* address(std::int64_t offset) const override { return memory_->address(offset); }
  [[nodiscard]] std::int64_t measured_peak() const override { return memory_->touched(); }

 private:
  SimulatedDevice(const ExecutorOptions& options, const Faults& faults)
      : check_(options.check_memory), precision_(options.precision), faults_(faults) {}
  struct PreparedKernel {
    KernelRequest request;
    std::unique_ptr<HostKernel> kernel;
    std::vector<TensorView> views;  ///< inputs, then results
  };
  enum class Work : std::uint8_t { kernel, transfer };

  /// Enqueues work that injected faults may hit: one kernel, or the transfer of `values` values. `action` receives the index of the value
  /// to damage (-1: none).
  template <class F>
  void issue(Work work, std::int64_t values, Stream stream, const Origin& origin, F action);
  /// The number of values whose transfer begins with a copy for `origin`: zero if the copy continues that of the previous one.
  std::int64_t begun_by(Stream stream, const Origin& origin);
  Status run_kernel(const PreparedKernel& prepared);
  /// Copies; if transfers are checked, compares the received bytes with those sent.
  Status transfer(std::byte* to, const std::byte* from, std::int64_t bytes, bool corrupt) const;
  Status bring(const Range& to, const std::byte* from, bool corrupt);
  [[nodiscard]] Status fetch(std::byte* to, const Range& from, bool corrupt) const;
  [[nodiscard]] Status check_written(const Range& range) const;

  const bool check_;
  const Precision precision_;
  const Faults faults_;
  std::unique_ptr<SimulatedMemory> memory_;
  std::vector<std::unique_ptr<std::byte[]>> staging_;
  std::vector<std::unique_ptr<PreparedKernel>> kernels_;
  std::vector<std::unique_ptr<const std::vector<Piece>>> pieces_;
  std::shared_ptr<Workers> workers_;
  std::int64_t issued_kernels_ = 0, issued_transfers_ = 0;
  Origin last_begun_[kStreamCount];
  bool losing_ = false;                        ///< the loss of the device is enqueued
  std::atomic<bool> lost_ = false;             ///< the loss has happened
  std::unique_ptr<SimulatedStreams> streams_;  ///< last member: its threads use all members above
};

}  // namespace cleave::runtime
