// Pieces: what kernels that only move elements read and write at once: up to 16 bytes of any element type, so that one text serves all
// types.
#pragma once

#include <initializer_list>

#include "executor/cuda/kernels/kernel_text.h"

namespace cleave::runtime::cuda {

inline constexpr std::int64_t kWidestPiece = 16;

/// The bytes of the widest piece that goes into `bytes` without a rest, at most as wide as `widest`.
std::int64_t piece_bytes(std::int64_t bytes, std::int64_t widest = kWidestPiece);
/// Its type in device code. Pieces of one width have one type, whatever is in them.
std::string piece_type(std::int64_t bytes);
/// `request` with operands of bytes: the parameters x0, y0, … are cast to pieces where they are used.
KernelRequest of_bytes(const KernelRequest& request);

/// The bits of `value` as an element of `dtype`, repeated over eight bytes.
std::int64_t repeated_bits(const AttributeValue& value, DType dtype);
/// Declares `name`, a piece filled with such bits.
void declare_piece(KernelText& kernel, const std::string& name, std::int64_t bytes, std::int64_t bits);

}  // namespace cleave::runtime::cuda
