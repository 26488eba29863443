// QuantizedCode: the inner loops of products and convolutions of 8-bit integers, compiled for one instruction set (code_*.cpp), and their
// selection for this processor. Factors are widened to 16 bits when they are packed, their zero points subtracted, so that sums are exact
// and padding is zero. Two products of neighbors along the inner axis are one instruction.
#pragma once

#include <cstdint>

namespace cleave::runtime::host {

/// Consecutive bytes of a line, and their column in a panel.
struct ByteRun {
  std::int64_t from = 0, to = 0, count = 0;
};

/// Packs lines of bytes into a panel: [pair of lines][column][2], each element minus the zero point of its column. An odd last line is
/// followed by zeros.
struct BytePanelCall {
  std::int64_t lines = 0, width = 0;
  const std::uint8_t* from = nullptr;
  const std::int64_t* offsets = nullptr;  ///< by line: the offset of its element 0
  const ByteRun* runs = nullptr;          ///< the runs that make up each line, in ascending `to`
  std::int64_t run_count = 0;
  bool exact = false;                   ///< nothing may be read after a run; otherwise 16 bytes may be
  std::uint8_t flip = 0;                ///< exclusive or with each byte: 0x80 turns i8 into u8
  const std::int16_t* zeros = nullptr;  ///< by column, twice each, and as many as 16 columns after the last
  std::int16_t* to = nullptr;           ///< 16 columns may be written after the panel
};

/// Fills lines of a plane: in rows `first_row` to `end_row`, elements `first` to `end` are every `stride`th byte of a line of `from`; all
/// others are padding. As words, bytes are widened minus the zero point, and padding is zero; as bytes, padding is `outside`.
struct ByteLinesCall {
  std::int64_t rows = 0, first_row = 0, end_row = 0;
  std::int64_t length = 0, first = 0, end = 0;
  const std::uint8_t* from = nullptr;  ///< element `first` of line `first_row`
  std::int64_t from_row = 0, stride = 1;
  std::int64_t readable = 0;  ///< bytes that may be read from `from` on
  std::uint8_t flip = 0, outside = 0;
  std::int16_t zero = 0;
  std::int16_t* words = nullptr;  ///< one of both
  std::uint8_t* bytes = nullptr;
};

/// Computes c = a x b or c += a x b for a range of the inner axis. Rows of a are contiguous; b is in panels of `quantized_panel` columns.
struct QuantizedBlock {
  std::int64_t rows = 0, columns = 0;
  std::int64_t first = 0, pairs = 0;  ///< the range of the inner axis, in pairs
  std::int64_t panel_pairs = 0;       ///< all pairs of a panel: half of the whole inner axis, rounded up
  const std::int16_t* a = nullptr;    ///< at pair 0
  std::int64_t a_row = 0;             ///< elements between rows
  const std::int16_t* b = nullptr;
  std::int32_t* c = nullptr;
  std::int64_t c_row = 0;  ///< whole registers are written
  bool add = false;
};

/// The conversion of sums to results. A step of 0: one number for all columns.
struct RescaleCall {
  enum class To : std::uint8_t { i32, f32, i8, u8 };
  std::int64_t count = 0;
  const std::int32_t* from = nullptr;
  const std::int32_t* bias = nullptr;  ///< or null
  const float* factor = nullptr;
  std::int64_t bias_step = 0, factor_step = 0;
  std::int32_t zero = 0;
  To form = To::i32;
  bool finite = true;  ///< all factors are finite
  void* to = nullptr;
};

inline constexpr std::int64_t kSlidTogether = 64;  ///< elements
/// Sums over the taps of shifted lines: to[i] = the sum over t of weights[t] * from[offsets[t] + i], for `count` rounded up to
/// `kSlidTogether`.
struct ShiftedLinesCall {
  std::int64_t count = 0, taps = 0;  ///< taps are even; the last weight may be 0
  const std::int16_t* from = nullptr;
  const std::int64_t* offsets = nullptr;
  const std::int16_t* weights = nullptr;
  std::int32_t* to = nullptr;
};

struct QuantizedCode {
  std::int64_t rows = 0;       ///< rows of a register tile
  std::int64_t width = 0;      ///< i32 elements of a register
  std::int64_t registers = 0;  ///< the most registers of a panel's width
  void (*pack)(const BytePanelCall& call) = nullptr;
  void (*lines)(const ByteLinesCall& call) = nullptr;
  void (*block)(const QuantizedBlock& call) = nullptr;
  /// Computes to[i] = (from[i] ^ flip) - zero.
  void (*widen)(std::int64_t count, const std::uint8_t* from, std::uint8_t flip, std::int16_t zero, std::int16_t* to) = nullptr;
  void (*rescale)(const RescaleCall& call) = nullptr;
  void (*slide)(const ShiftedLinesCall& call) = nullptr;
};

/// Columns of the panel that begins with `left` columns remaining. Only the last panel is narrower than others, so that blocks of whole
/// panels have the panels of the matrix.
[[gnu::always_inline]] constexpr std::int64_t quantized_panel(std::int64_t left, std::int64_t width, std::int64_t registers) {
  const std::int64_t needed = (left + width - 1) / width;
  return (needed < registers ? needed : registers) * width;
}

/// The code for this processor.
const QuantizedCode& quantized_code();

}  // namespace cleave::runtime::host
