// Pieces: the units of up to 16 bytes in which kernels that only move elements read and write. They have no element type, so that one text
// serves all types.
#pragma once

#include <initializer_list>

#include "executor/cuda/kernels/kernel_text.h"

namespace cleave::runtime::cuda {

inline constexpr std::int64_t kWidestPiece = 16;

/// The size in bytes of the widest piece that divides `bytes`, at most `widest`.
std::int64_t piece_bytes(std::int64_t bytes, std::int64_t widest = kWidestPiece);
/// The type of a piece in device code, which depends on its width only.
std::string piece_type(std::int64_t bytes);
/// `request` with untyped operands of bytes: the parameters x0, y0, … are cast to pieces where they are used.
KernelRequest of_bytes(const KernelRequest& request);

/// The bits of `value` as an element of `dtype`, repeated over eight bytes.
std::int64_t repeated_bits(const AttributeValue& value, DType dtype);
/// Declares `name`, a piece filled with `bits` from repeated_bits().
void declare_piece(KernelText& kernel, const std::string& name, std::int64_t bytes, std::int64_t bits);

}  // namespace cleave::runtime::cuda
