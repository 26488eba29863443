// Packets on CUDA: a kernel that copies parts of the arena from, or to, page-locked memory where they lie side by side. One launch crosses
// the link once, whatever many values there are; as many copies would each take its latency.
#pragma once

#include <span>

#include "executor/cuda/kernel_source.h"

namespace cleave::runtime::cuda {

/// For a launch with room for so many pieces; what is not needed of it has no bytes.
std::size_t packet_room(std::size_t pieces);

/// The kernel for these pieces. `unpacks`: from the packet, its one input, to the pieces; else from these to it. Inputs and results are as
/// many as packet_room() says, which makes few different texts.
KernelSource packet_source(std::span<const Piece> pieces, bool unpacks);

}  // namespace cleave::runtime::cuda
