// Weights of few bits in blocks, each with a scale and a zero point, as MatMulNBits and other operators of ONNX Runtime have them. They
// become floating-point constants while the file is read, and once; weights that are data of a run are unpacked by operations.
#pragma once

#include <cstdint>
#include <optional>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// A matrix [rows, columns] of `bits` bits an element, low bits of a byte first; each row fills whole bytes. Operands by number.
struct BlockWeights {
  std::size_t packed = 0, scales = 0, zeros = 0;  ///< zero points: as many bits an element, or of the scales' type; they may be absent
  std::int64_t rows = 0, columns = 0, bits = 4;
  std::int64_t block = 0;               ///< columns that share a scale
  bool zeros_along_rows = false;        ///< packed zero points fill the bytes along the rows, for blocks of whole rows
  std::int64_t matrices = 1;            ///< `rows` are those of so many matrices, in order
  std::optional<std::size_t> block_of;  ///< the block of each column, an operand; else blocks are neighbors

  [[nodiscard]] std::int64_t blocks() const { return (columns + block - 1) / block; }
};

/// Whether bits and block are possible, and operands have the elements for them. If not, reports it.
bool block_weights_fit(Call& c, const BlockWeights& of);
/// The weights `(element - zero point) * scale`, [rows, columns], in the type of the scales.
Part dequantized(Call& c, const BlockWeights& of);

/// The elements of packed bytes, u8: those of the last axis times 8 / bits, low bits first.
Part unpacked_bits(Call& c, const Part& packed, std::int64_t bits);

}  // namespace cleave::models::onnx
