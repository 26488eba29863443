// Planes: the channels of an image with padding, and one plane for each phase of the stride, so that the elements that consecutive windows
// see through one tap are contiguous. Independent of weights.
#pragma once

#include <vector>

#include "executor/host/convolution/code.h"
#include "graph/ops/window.h"

namespace cleave::runtime::host {

/// Whether windows of two by two elements lie side by side and cover all elements.
bool are_squares(const ops::Window& window);

class Planes {
 public:
  /// Whether the planes of such windows have an acceptable size.
  static bool fit(const ops::Window& window);
  explicit Planes(const ops::Window& window);

  /// Whether a channel is its own plane: there is no padding, and the stride is 1.
  [[nodiscard]] bool as_it_lies() const { return as_it_lies_; }
  /// Elements of all planes of one channel.
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// By tap: the offset of its element for window 0.
  [[nodiscard]] const std::vector<std::int64_t>& taps() const { return taps_; }
  /// The offset of a window's element from that of window 0, the same for all taps.
  [[nodiscard]] std::int64_t place(std::int64_t window) const;
  /// The number of contiguous windows from `window` on.
  [[nodiscard]] std::int64_t run(std::int64_t window) const {
    return whole_ ? windows_ - window : lines_[2].outs - window % lines_[2].outs;
  }

  /// The distance between lines of a plane.
  [[nodiscard]] std::int64_t line_stride() const { return lines_[2].length; }

  /// Fills the planes of a channel, with `outside` as padding. Up to a register's width after the planes may be read later; the channel is
  /// read up to `end`.
  template <class T>
  void fill(const ConvolutionCode<T>& code, const T* channel, const T* end, T outside, T* to) const;
  /// Some lines of a plane, as `ConvolutionCode::lines` fills them.
  struct Filled {
    std::int64_t first_row = 0, end_row = 0;  ///< those with elements of the channel
    std::int64_t first = 0, end = 0;
    std::int64_t from = 0;  ///< in the channel
  };
  /// All planes of a channel, one after the other.
  [[nodiscard]] const std::vector<Filled>& filled() const { return filled_; }
  /// Lines of a plane, and their elements.
  [[nodiscard]] std::int64_t rows() const { return lines_[1].length; }

 private:
  /// One axis of the planes.
  struct Line {
    std::vector<std::int64_t> phases;  ///< the remainders, by the stride, of the taps' positions
    std::int64_t length = 1, outs = 1;
  };
  void add_filled();

  ops::Window window_;
  std::array<Line, ops::kMostSpatial> lines_;
  std::vector<std::int64_t> taps_;
  std::vector<Filled> filled_;  ///< in the order of the planes
  std::int64_t size_ = 1, windows_ = 1;
  bool as_it_lies_ = true;
  bool whole_ = false;  ///< all windows are contiguous
};

}  // namespace cleave::runtime::host
