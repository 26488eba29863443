// ConvolutionCode: the inner loops around convolutions for one element type, compiled for one set of instructions (code_*.cpp), and the
// choice among them for the processor that this runs on. Plain functions on plain memory; the products themselves are matmul/code.h's.
#pragma once

#include <cstdint>

namespace cleave::runtime::host {

/// Neighbouring elements of a line, and where they go in a panel.
struct PanelRun {
  std::int64_t from = 0, to = 0, count = 0;
};

template <class T>
struct PanelCall {
  std::int64_t lines = 0;  ///< so many, each `width` wide in the panel
  std::int64_t width = 0;
  const T* from = nullptr;
  const std::int64_t* offsets = nullptr;  ///< by line: where its element 0 lies
  const PanelRun* runs = nullptr;         ///< of each line, in the order of `to`
  std::int64_t run_count = 0;
  bool exact = false;  ///< nothing may be read behind a run; else a register's width more
  T* to = nullptr;
};

/// Lines of a plane, one behind the other: `length` elements, of which those from `first` to `end` are every `stride`th of a line of
/// `from`, and the others `outside`, as are whole lines but those from `first_row` to `end_row`.
template <class T>
struct LinesCall {
  std::int64_t rows = 0, first_row = 0, end_row = 0;
  std::int64_t length = 0, first = 0, end = 0;
  const T* from = nullptr;  ///< of element `first` of line `first_row`
  std::int64_t from_row = 0, stride = 1;
  std::int64_t readable = 0;  ///< elements that are there from `from` on
  T outside = 0;
  T* to = nullptr;
};

/// One channel, seen through windows of as many lines as columns one element apart; before each line stands half of that as padding. Lines
/// of results are one register, or at least half a window more.
template <class T>
struct SlideCall {
  std::int64_t kernel = 3;                            ///< windows are of 3 by 3 or 5 by 5 ...
  std::int64_t stride = 1;                            ///< ... and next to each other, or 2 apart
  std::int64_t lines = 0, length = 0;                 ///< of the channel
  std::int64_t before = 0, out_lines = 0, width = 0;  ///< lines of padding before, fewer than of a window; and what results
  const T *from = nullptr, *end = nullptr;            ///< nothing is read from `end` on
  const T* weights = nullptr;
  T bias = 0;
  T* to = nullptr;
};

template <class T>
struct ConvolutionCode {
  std::int64_t width = 0;  ///< elements of a register
  void (*lines)(const LinesCall<T>& call) = nullptr;
  void (*pack)(const PanelCall<T>& call) = nullptr;
  /// to[i] = bias + the sum over d of weights[d] * from[offsets[d] + i]
  void (*slide)(std::int64_t count, std::int64_t depth, const T* from, const std::int64_t* offsets, const T* weights, T bias,
                T* to) = nullptr;
  void (*slide_channel)(const SlideCall<T>& call) = nullptr;
  /// to[i] = the largest of from[offsets[d] + i], or NaN where there is one
  void (*largest)(std::int64_t count, std::int64_t depth, const T* from, const std::int64_t* offsets, T* to) = nullptr;
  /// `rows` of `count` elements, side by side from then on; a register's width may be read behind the last.
  void (*gather)(std::int64_t rows, std::int64_t count, const T* from, std::int64_t from_row, T* to) = nullptr;
  /// to[i] = to[i] * by[i]
  void (*scale)(std::int64_t count, const T* by, T* to) = nullptr;
};

/// How many results of so many taps each are slid for from one look to the next (graph/base/stop.h): whole registers.
inline std::int64_t slid_together(std::int64_t taps) {
  constexpr std::int64_t kTogether = 1 << 23, kRegisters = 1024;
  return (kTogether / (taps > 0 ? taps : 1) / kRegisters + 1) * kRegisters;
}

/// The code for this processor; float, double.
template <class T>
const ConvolutionCode<T>& convolution_code();

}  // namespace cleave::runtime::host
