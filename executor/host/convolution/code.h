// ConvolutionCode: the inner loops of convolutions for one element type, compiled for one instruction set (code_*.cpp), and their selection
// for this processor. Plain functions on plain memory; matrix products use the micro-kernels of matmul/code.h.
#pragma once

#include <cstdint>

namespace cleave::runtime::host {

/// Consecutive elements of a line, and their position in a panel.
struct PanelRun {
  std::int64_t from = 0, to = 0, count = 0;
};

template <class T>
struct PanelCall {
  std::int64_t lines = 0;  ///< number of lines, each `width` elements wide in the panel
  std::int64_t width = 0;
  const T* from = nullptr;
  const std::int64_t* offsets = nullptr;  ///< by line: the offset of its element 0
  const PanelRun* runs = nullptr;         ///< the runs that make up each line, in ascending `to`
  std::int64_t run_count = 0;
  bool exact = false;  ///< nothing may be read after a run; otherwise up to a register's width may be
  T* to = nullptr;
};

/// Fills `rows` consecutive lines of a plane, each of `length` elements. In rows `first_row` to `end_row`, elements `first` to `end` are
/// every `stride`th element of a line of `from`; all other elements are `outside` (padding).
template <class T>
struct LinesCall {
  std::int64_t rows = 0, first_row = 0, end_row = 0;
  std::int64_t length = 0, first = 0, end = 0;
  const T* from = nullptr;  ///< element `first` of line `first_row`
  std::int64_t from_row = 0, stride = 1;
  std::int64_t readable = 0;  ///< elements that may be read from `from` on
  T outside = 0;
  T* to = nullptr;
};

/// A convolution of one channel with a square kernel, with half a kernel of padding before each line. Result lines are at most one register
/// wide, or at least half a kernel wider than a register.
template <class T>
struct SlideCall {
  std::int64_t kernel = 3;                            ///< the kernel is 3 by 3 or 5 by 5
  std::int64_t stride = 1;                            ///< 1 or 2
  std::int64_t lines = 0, length = 0;                 ///< extents of the channel
  std::int64_t before = 0, out_lines = 0, width = 0;  ///< padding lines before, fewer than the kernel's; result extents
  const T *from = nullptr, *end = nullptr;            ///< nothing is read from `end` on
  const T* weights = nullptr;
  T bias = 0;
  T* to = nullptr;
};

/// Windows and their taps: tap d of window p sees element bases[d] + index[rows[d] + p] of `from`.
template <class T>
struct PlacesCall {
  std::int64_t count = 0, taps = 0;  ///< windows, at most `kMostPlaces`; taps of each, at least one
  const T* from = nullptr;
  const std::int32_t* index = nullptr;
  const std::int64_t *rows = nullptr, *bases = nullptr;
  std::int32_t* places = nullptr;  ///< the result: by window, the element that is chosen
};
inline constexpr std::int64_t kMostPlaces = 256;

template <class T>
struct ConvolutionCode {
  std::int64_t width = 0;  ///< elements of a register
  void (*lines)(const LinesCall<T>& call) = nullptr;
  void (*pack)(const PanelCall<T>& call) = nullptr;
  /// Computes to[i] = bias + the sum over d of weights[d] * from[offsets[d] + i].
  void (*slide)(std::int64_t count, std::int64_t depth, const T* from, const std::int64_t* offsets, const T* weights, T bias,
                T* to) = nullptr;
  void (*slide_channel)(const SlideCall<T>& call) = nullptr;
  /// Computes to[i] = the largest of from[offsets[d] + i], or NaN if there is one.
  void (*largest)(std::int64_t count, std::int64_t depth, const T* from, const std::int64_t* offsets, T* to) = nullptr;
  /// Computes the largest of each two by two elements of `rows` pairs of lines, each `2 * count` elements wide, or NaN if there is one.
  /// `room` is for rows * 2 * count elements.
  void (*largest_of_squares)(std::int64_t rows, std::int64_t count, const T* from, T* room, T* to) = nullptr;
  /// The gradient of the same: adds each element of `g` to a zero at the first largest of its four elements, or at their last NaN.
  void (*spread_to_squares)(std::int64_t rows, std::int64_t count, const T* from, const T* g, T* to) = nullptr;
  /// Finds the place of each window's first largest element, or of its last NaN.
  void (*largest_places)(const PlacesCall<T>& call) = nullptr;
  /// Copies `rows` lines of `count` elements to contiguous memory; up to a register's width may be read after the last line.
  void (*gather)(std::int64_t rows, std::int64_t count, const T* from, std::int64_t from_row, T* to) = nullptr;
  /// Computes to[i] = to[i] * by[i].
  void (*scale)(std::int64_t count, const T* by, T* to) = nullptr;
};

/// The number of results, of `taps` taps each, to compute between two polls of the stop sign (graph/base/stop.h): whole registers.
inline std::int64_t slid_together(std::int64_t taps) {
  constexpr std::int64_t kTogether = 1 << 23, kRegisters = 1024;
  return (kTogether / (taps > 0 ? taps : 1) / kRegisters + 1) * kRegisters;
}

/// The code for this processor, for T = float and double.
template <class T>
const ConvolutionCode<T>& convolution_code();

}  // namespace cleave::runtime::host
