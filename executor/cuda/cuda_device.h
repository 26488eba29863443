// CudaDevice: an NVIDIA GPU behind the Device interface: one arena, page-locked staging, kernels compiled at run time, matrix products by
// cuBLASLt, three streams (streams.h). After the first run has begun, nothing is allocated, created or loaded except the events of the
// first timeline. Nothing ever waits for the whole device.
//
// Functions that do not enqueue may be called on the caller's threads; they restore the thread's current CUDA context before they return.
// Only the executor's own threads, and `upload`, enqueue into streams.
#pragma once

#include <memory>
#include <optional>

#include "executor/cuda/cuda_options.h"
#include "executor/device/device.h"

namespace cleave::runtime::cuda {

class CudaDevice final : public Device {
 public:
  static Result<std::unique_ptr<Device>> open(const Api& api, CudaOptions options);
  ~CudaDevice() override;

  Status allocate(std::int64_t bytes, std::span<const Range> kept) override;
  Result<std::byte*> allocate_staging(std::int64_t bytes) override;
  void announce(std::span<const KernelRequest> requests) override;
  Result<KernelId> prepare(KernelRequest request) override;
  Status upload(Range to, const std::byte* from, bool page_locked) override;
  [[nodiscard]] std::int64_t measured_peak() const override;

  Status begin_run(RunState& run) override;
  void end_run() override;
  void abort() override;
  [[nodiscard]] bool lost() const override { return context_->lost(); }
  Streams& streams() override { return *streams_; }

  Status launch(KernelId kernel, const Origin& origin) override;
  Status copy_to_device(Range to, const std::byte* from, const Origin& origin) override;
  Status copy_to_host(std::byte* to, Range from, const Origin& origin) override;
  Status copy_inside(Range to, Range from, const Origin& origin) override;
  Status fill(Range to, std::int32_t value, const Origin& origin) override;

  CoalescedCopies* coalesced_copies() override;
  Segments* segments() override;
  Controls* controls() override;
  Mailboxes* mailboxes() override;
  Timestamps* timestamps() override { return streams_.get(); }

 private:
  struct Parts;

  CudaDevice(const Api& api, CudaOptions options);
  Status open_parts();
  /// The preparations that need all kernels: scratch memory, and the graphs that hold its address. Called before the first run.
  Status finish_preparing();

  const Api api_;
  const CudaOptions options_;
  std::shared_ptr<Context> context_;      ///< first, so that everything else is destroyed before it
  std::optional<Context::Visit> ending_;  ///< set by the destructor while the other members are destroyed
  std::unique_ptr<Parts> parts_;          ///< null: the device could not be opened
  bool finished_ = false;
  std::unique_ptr<CudaStreams> streams_;
};

}  // namespace cleave::runtime::cuda
