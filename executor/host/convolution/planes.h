// Planes: the channels of an image with their padding, and by strides taken apart, so that every element that a window sees through one of
// its taps lies beside what the next window sees through it. Knows no weights.
#pragma once

#include <vector>

#include "executor/host/convolution/code.h"
#include "graph/ops/window.h"

namespace cleave::runtime::host {

class Planes {
 public:
  /// Whether planes of such windows take no more memory than is fit.
  static bool fit(const ops::Window& window);
  explicit Planes(const ops::Window& window);

  /// A channel serves as it lies: there is no padding, and no stride.
  [[nodiscard]] bool as_it_lies() const { return as_it_lies_; }
  /// Elements of a channel.
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// By tap: where its element for window 0 lies.
  [[nodiscard]] const std::vector<std::int64_t>& taps() const { return taps_; }
  /// Where the element for a window lies, from where that for window 0 does.
  [[nodiscard]] std::int64_t place(std::int64_t window) const;
  /// Windows side by side from `window` on.
  [[nodiscard]] std::int64_t run(std::int64_t window) const {
    return whole_ ? windows_ - window : lines_[2].outs - window % lines_[2].outs;
  }

  /// How far the lines of a plane are apart.
  [[nodiscard]] std::int64_t line_stride() const { return lines_[2].length; }

  /// The planes of a channel, with `outside` for padding. A register's width behind them may be read. Behind the channel too, up to `end`.
  template <class T>
  void fill(const ConvolutionCode<T>& code, const T* channel, const T* end, T outside, T* to) const;

 private:
  /// One axis of the planes.
  struct Line {
    std::vector<std::int64_t> phases;  ///< remainders of places by the stride that some tap has
    std::int64_t length = 1, outs = 1;
  };
  ops::Window window_;
  std::array<Line, ops::kMostSpatial> lines_;
  std::vector<std::int64_t> taps_;
  std::int64_t size_ = 1, windows_ = 1;
  bool as_it_lies_ = true;
  bool whole_ = false;  ///< all windows lie side by side
};

}  // namespace cleave::runtime::host
