// SimulatedCoalescedCopies: the coalesced transfers of the simulated accelerator, each one command.
#pragma once

#include <memory>
#include <vector>

#include "executor/device/coalesced_copies.h"
#include "executor/simulated/checked_memory.h"
#include "executor/simulated/fault_injector.h"

namespace cleave::runtime {

class SimulatedCoalescedCopies final : public CoalescedCopies {
 public:
  SimulatedCoalescedCopies(CheckedMemory& memory, FaultInjector& queue) : memory_(memory), queue_(queue) {}

  Result<PiecesId> prepare(std::vector<Piece> pieces, Stream stream) override;
  Status copy_to_device(PiecesId to, const std::byte* from, const Origin& origin) override;
  Status copy_to_host(std::byte* to, PiecesId from, const Origin& origin) override;

 private:
  CheckedMemory& memory_;
  FaultInjector& queue_;
  std::vector<std::unique_ptr<const std::vector<Piece>>> pieces_;
};

}  // namespace cleave::runtime
