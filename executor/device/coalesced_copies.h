// CoalescedCopies: copies of several ranges of the arena as one command, between them and adjacent page-locked memory.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/device/device.h"

namespace cleave::runtime {

/// A range of the arena that is copied together with others, and its offset among them in page-locked memory.
struct Piece {
  Range range;
  std::int64_t offset = 0;  ///< a multiple of 16
};
using PiecesId = Id<struct PiecesTag>;

class CoalescedCopies {
 public:
  virtual ~CoalescedCopies() = default;
  /// Prepares pieces that are copied as one, on `to_device` or on `to_host`; they must not overlap. Must be called after the arena is
  /// allocated.
  virtual Result<PiecesId> prepare(std::vector<Piece> pieces, Stream stream) = 0;
  virtual Status copy_to_device(PiecesId to, const std::byte* from, const Origin& origin) = 0;  ///< on `to_device`
  virtual Status copy_to_host(std::byte* to, PiecesId from, const Origin& origin) = 0;          ///< on `to_host`
};

}  // namespace cleave::runtime
