// Coalesced transfers on CUDA: a kernel that copies parts of the arena to or from adjacent page-locked memory. One launch pays
// the link's latency once for all values; separate copies would each pay it.
#pragma once

#include <span>

#include "executor/cuda/kernel_source.h"
#include "executor/device/coalesced_copies.h"

namespace cleave::runtime::cuda {

/// The number of pieces, at least `pieces`, that a launch has parameters for; the unused ones have no bytes.
std::size_t coalesced_copy_room(std::size_t pieces);

/// The kernel for these pieces. `unpacks`: copies from the packed values, its one input, to the pieces; else the reverse. The
/// number of inputs or results is coalesced_copy_room(), so that there are few different texts.
KernelSource coalesced_copy_source(std::span<const Piece> pieces, bool unpacks);

}  // namespace cleave::runtime::cuda
