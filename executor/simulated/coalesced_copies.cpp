#include "executor/simulated/coalesced_copies.h"

#include <iterator>

namespace cleave::runtime {
namespace {

/// Calls `copy(piece, corrupt)` for each piece. An empty piece cannot be damaged: the next one is damaged instead.
template <class F>
Status each_piece(const std::vector<Piece>& pieces, std::int64_t corrupt, F copy) {
  for (const Piece& piece : pieces) {
    if (Status status = copy(piece, corrupt == 0 && piece.range.bytes > 0); !status) return status;
    if (corrupt > 0 || piece.range.bytes > 0) --corrupt;
  }
  return {};
}

}  // namespace

Result<PiecesId> SimulatedCoalescedCopies::prepare(std::vector<Piece> pieces, Stream) {
  pieces_.push_back(std::make_unique<const std::vector<Piece>>(std::move(pieces)));
  return PiecesId(pieces_.size() - 1);
}

Status SimulatedCoalescedCopies::copy_to_device(PiecesId to, const std::byte* from, const Origin& origin) {
  const std::vector<Piece>& pieces = *pieces_[to.index];
  const auto bring_all = [this, &pieces, from](std::int64_t corrupt) {
    return each_piece(pieces, corrupt,
                      [&](const Piece& piece, bool damage) { return memory_.bring(piece.range, from + piece.offset, damage); });
  };
  queue_.issue(FaultInjector::Work::transfer, std::ssize(pieces), Stream::to_device, origin, bring_all);
  return {};
}

Status SimulatedCoalescedCopies::copy_to_host(std::byte* to, PiecesId from, const Origin& origin) {
  const std::vector<Piece>& pieces = *pieces_[from.index];
  const auto fetch_all = [this, &pieces, to](std::int64_t corrupt) {
    return each_piece(pieces, corrupt,
                      [&](const Piece& piece, bool damage) { return memory_.fetch(to + piece.offset, piece.range, damage); });
  };
  queue_.issue(FaultInjector::Work::transfer, std::ssize(pieces), Stream::to_host, origin, fetch_all);
  return {};
}

}  // namespace cleave::runtime
