// CudaMailboxes: host and GPU hand over small values through page-locked memory (executor/device/mailbox.h). The GPU waits for the host by
// a driver command in front of a kernel.
#pragma once

#include <vector>

#include "executor/cuda/coalesced_copies.h"
#include "executor/cuda/handover.h"
#include "executor/device/mailboxes.h"

namespace cleave::runtime::cuda {

class CudaMailboxes final : public Mailboxes {
 public:
  CudaMailboxes(Context& context, CudaStreams& streams, CudaMemory& memory, CudaModules& modules, CudaCoalescedCopies& copies)
      : context_(context), streams_(streams), memory_(memory), modules_(modules), copies_(copies) {}

  Result<Mailbox> open() override;
  Status take(Range to, const Delivery& delivery, const Origin& origin) override;
  Status take(PiecesId to, const Delivery& delivery, const Origin& origin) override;
  Status give(Range from, const Delivery& delivery, const Origin& origin) override;
  Status give(PiecesId from, const Delivery& delivery, const Origin& origin) override;
  Status await(const Mailbox& mailbox, std::uint64_t number, const MailboxSlot* slot, const std::function<bool()>& stops) override;
  /// Ends every wait of the GPU for the host. From any thread.
  void release() const;

 private:
  Status wait_for_host(const Mailbox& mailbox, std::uint64_t number, CUstream stream) const;
  Status deliver(const Delivery& delivery, const Origin& origin, PreparedPieces* pieces, Handover what);
  Status hand_over(Handover what, CUstream stream) const;

  Context& context_;
  CudaStreams& streams_;
  CudaMemory& memory_;
  CudaModules& modules_;
  CudaCoalescedCopies& copies_;
  CUfunction handover_ = nullptr;  ///< null: no mailboxes yet
  std::vector<Mailbox> mailboxes_;
};

}  // namespace cleave::runtime::cuda
