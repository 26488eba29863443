// Coalesced transfers (packets) on CUDA: a kernel that copies parts of the arena to or from adjacent page-locked memory. One launch pays
// the link's latency once for all values; separate copies would each pay it.
#pragma once

#include <span>

#include "executor/cuda/kernel_source.h"
#include "executor/device/coalesced_copies.h"

namespace cleave::runtime::cuda {

/// The number of pieces, at least `pieces`, that a launch has parameters for; the unused ones have no bytes.
std::size_t packet_room(std::size_t pieces);

/// The kernel for these pieces. `unpacks`: copies from the packet, its one input, to the pieces; else from the pieces to the packet. The
/// number of inputs or results is packet_room(), so that there are few different texts.
KernelSource packet_source(std::span<const Piece> pieces, bool unpacks);

}  // namespace cleave::runtime::cuda
