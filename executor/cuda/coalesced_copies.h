// CudaCoalescedCopies: the coalesced transfers of one device: a kernel on the copy stream reads or writes page-locked memory.
#pragma once

#include <vector>

#include "executor/cuda/cuda_options.h"
#include "executor/cuda/memory.h"
#include "executor/cuda/modules.h"
#include "executor/device/coalesced_copies.h"

namespace cleave::runtime::cuda {

/// The launch that copies all pieces of a coalesced transfer at once. The address of the packed values is set at each launch.
struct PreparedPieces {
  PreparedLaunch launch;
  std::size_t packed = 0;  ///< index of the address of the packed values in `launch.values`
  std::int64_t end = 0;    ///< the end of the part of the arena that it touches
};

class CudaCoalescedCopies final : public CoalescedCopies {
 public:
  CudaCoalescedCopies(Context& context, CudaStreams& streams, const CudaOptions& options, CudaMemory& memory, CudaModules& modules)
      : context_(context), streams_(streams), options_(options), memory_(memory), modules_(modules) {}

  Result<PiecesId> prepare(std::vector<Piece> pieces, Stream stream) override;
  Status copy_to_device(PiecesId to, const std::byte* from, const Origin& origin) override;
  Status copy_to_host(std::byte* to, PiecesId from, const Origin& origin) override;
  PreparedPieces& operator[](PiecesId id) { return pieces_[id.index]; }

 private:
  Status copy(Stream stream, PreparedPieces& pieces, const std::byte* packed, const Origin& origin);

  Context& context_;
  CudaStreams& streams_;
  const CudaOptions& options_;
  CudaMemory& memory_;
  CudaModules& modules_;
  std::vector<PreparedPieces> pieces_;
};

}  // namespace cleave::runtime::cuda
