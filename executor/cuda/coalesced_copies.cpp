#include "executor/cuda/coalesced_copies.h"

#include <algorithm>

namespace cleave::runtime::cuda {

Result<PiecesId> CudaCoalescedCopies::prepare(std::vector<Piece> pieces, Stream stream) {
  const Context::Visit visit(context_);
  if (!visit.status()) return visit.status().error();
  std::erase_if(pieces, [](const Piece& piece) { return piece.range.bytes == 0; });
  PreparedPieces prepared;
  if (!pieces.empty()) {
    const bool unpacks = stream == Stream::to_device;
    const KernelSource source = options_.coalesced_copy(pieces, unpacks);
    Result<CUfunction> entry = modules_.function(source.text, source.launches[0]);
    if (!entry) return entry.error();
    PreparedLaunch& launch = prepared.launch;
    launch.function = *entry;
    launch.shape = source.launches[0];
    for (const Piece& piece : pieces) {
      launch.values.push_back(memory_.at(piece.range.offset));
      prepared.end = std::max(prepared.end, piece.range.offset + piece.range.bytes);
    }
    launch.values.resize(coalesced_copy_room(pieces.size()), memory_.at(0));
    prepared.packed = unpacks ? 0 : launch.values.size();
    launch.values.insert(launch.values.begin() + static_cast<std::ptrdiff_t>(prepared.packed), 0);
    for (const std::int64_t constant : launch.shape.constants) launch.values.push_back(static_cast<std::uint64_t>(constant));
  }
  pieces_.push_back(std::move(prepared));
  return PiecesId(pieces_.size() - 1);
}

Status CudaCoalescedCopies::copy(Stream stream, PreparedPieces& pieces, const std::byte* packed, const Origin& origin) {
  if (!pieces.launch.function) return {};
  pieces.launch.values[pieces.packed] = reinterpret_cast<CUdeviceptr>(packed);  // page-locked memory has one address on both sides
  return streams_.enqueue(stream, origin, [&](CUstream on, std::uint64_t ticket) { return enqueue(context_, pieces.launch, on, ticket); });
}

Status CudaCoalescedCopies::copy_to_device(PiecesId to, const std::byte* from, const Origin& origin) {
  PreparedPieces& pieces = pieces_[to.index];
  memory_.touch(pieces.end);
  return copy(Stream::to_device, pieces, from, origin);
}

Status CudaCoalescedCopies::copy_to_host(std::byte* to, PiecesId from, const Origin& origin) {
  return copy(Stream::to_host, pieces_[from.index], to, origin);
}

}  // namespace cleave::runtime::cuda
