#include "executor/host/convolution/planes.h"
#include "executor/host/long_copy.h"
#include "graph/base/stop.h"

#include <algorithm>

namespace cleave::runtime::host {

bool are_squares(const ops::Window& window) {
  const auto pairs = [](const ops::WindowAxis& axis) {
    return axis.kernel == 2 && axis.stride == 2 && axis.dilation == 1 && axis.before == 0 && axis.in == 2 * axis.out;
  };
  return window[0].in == 1 && window[0].out == 1 && window[0].kernel == 1 && pairs(window[1]) && pairs(window[2]);
}

bool Planes::fit(const ops::Window& window) {
  constexpr std::int64_t kMostTaps = 4096;  // along an axis
  double size = 1;
  for (const ops::WindowAxis& axis : window) {
    if (axis.kernel > kMostTaps) return false;
    const std::int64_t behind = (axis.span() - 1) / axis.stride;  // elements after the last window's first one
    size *= (static_cast<double>(axis.out) + static_cast<double>(behind)) * static_cast<double>(std::min(axis.kernel, axis.stride));
  }
  return window.taps() <= kMostTaps && size <= 16.0 * static_cast<double>(window.ins() + window.outs()) + 4096;
}

Planes::Planes(const ops::Window& window) : window_(window), windows_(window.outs()) {
  std::array<std::vector<std::int64_t>, 3> at;  // by axis and tap: its position in its plane
  std::array<std::vector<std::int64_t>, 3> plane;
  for (std::size_t a = 0; a < 3; ++a) {
    const ops::WindowAxis& axis = window[a];
    Line& line = lines_[a];
    as_it_lies_ = as_it_lies_ && axis.stride == 1 && axis.before == 0 && axis.after == 0;
    line.outs = std::max<std::int64_t>(1, axis.out);
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      const std::int64_t phase = k * axis.dilation % axis.stride;
      auto found = std::find(line.phases.begin(), line.phases.end(), phase);
      if (found == line.phases.end()) found = line.phases.insert(found, phase);
      plane[a].push_back(found - line.phases.begin());
      at[a].push_back(k * axis.dilation / axis.stride);
      line.length = std::max(line.length, axis.out + at[a].back());
    }
  }
  const std::int64_t each = lines_[0].length * lines_[1].length * lines_[2].length;
  for (const Line& line : lines_) size_ *= static_cast<std::int64_t>(line.phases.size());
  size_ *= each;
  for (std::size_t i = 0; i < at[0].size(); ++i) {
    for (std::size_t j = 0; j < at[1].size(); ++j) {
      for (std::size_t k = 0; k < at[2].size(); ++k) {
        const auto phases = [&](std::size_t a) { return static_cast<std::int64_t>(lines_[a].phases.size()); };
        const std::int64_t number = (plane[0][i] * phases(1) + plane[1][j]) * phases(2) + plane[2][k];
        taps_.push_back(number * each + (at[0][i] * lines_[1].length + at[1][j]) * lines_[2].length + at[2][k]);
      }
    }
  }
  whole_ = (lines_[2].length == lines_[2].outs || windows_ == lines_[2].outs) &&
           (lines_[1].length == lines_[1].outs || windows_ == lines_[2].outs * lines_[1].outs);
  add_filled();
}

std::int64_t Planes::place(std::int64_t window) const {
  const std::int64_t row = window / lines_[2].outs;
  return (row / lines_[1].outs * lines_[1].length + row % lines_[1].outs) * lines_[2].length + window % lines_[2].outs;
}

namespace {

/// The range of a line of one phase that is not padding.
std::pair<std::int64_t, std::int64_t> inner_of(const ops::WindowAxis& axis, std::int64_t length, std::int64_t phase) {
  const std::int64_t lack = axis.before - phase;
  const std::int64_t first = std::clamp<std::int64_t>(lack > 0 ? (lack + axis.stride - 1) / axis.stride : 0, 0, length);
  return {first, std::clamp<std::int64_t>(axis.in + lack > 0 ? (axis.in + lack + axis.stride - 1) / axis.stride : 0, first, length)};
}

}  // namespace

/// Fills all lines of a plane, in chunks between polls of the stop sign.
template <class T>
void some_lines(const ConvolutionCode<T>& code, const LinesCall<T>& all) {
  constexpr std::int64_t kTogether = 1 << 20;  ///< elements
  if (all.rows * all.length <= kTogether) return code.lines(all);
  each_long(
      all.rows,
      [&](std::int64_t begin, std::int64_t end) {
        LinesCall<T> call = all;
        call.rows = end - begin;
        call.first_row = std::clamp(all.first_row, begin, end) - begin;
        call.end_row = std::clamp(all.end_row, begin, end) - begin;
        if (call.first_row < call.end_row) {
          const std::int64_t before = (begin + call.first_row - all.first_row) * all.from_row;
          call.from += before;
          call.readable -= before;
        }
        call.to += begin * all.length;
        code.lines(call);
      },
      std::max<std::int64_t>(1, kTogether / std::max<std::int64_t>(1, all.length)));
}

void Planes::add_filled() {
  const auto& [a, b, c] = static_cast<const std::array<ops::WindowAxis, 3>&>(window_);
  for (const std::int64_t phase0 : lines_[0].phases) {
    for (const std::int64_t phase1 : lines_[1].phases) {
      for (const std::int64_t phase2 : lines_[2].phases) {
        const auto [first_row, end_row] = inner_of(b, lines_[1].length, phase1);
        const auto [first, end] = inner_of(c, lines_[2].length, phase2);
        for (std::int64_t i = 0; i < lines_[0].length; ++i) {
          const std::int64_t u = i * a.stride + phase0 - a.before;
          const bool outside = u < 0 || u >= a.in || first == end || first_row == end_row;
          Filled& filled = filled_.emplace_back(Filled{0, 0, first, end, 0});
          if (outside) continue;
          filled.first_row = first_row;
          filled.end_row = end_row;
          filled.from = (u * b.in + first_row * b.stride + phase1 - b.before) * c.in + first * c.stride + phase2 - c.before;
        }
      }
    }
  }
}

template <class T>
void Planes::fill(const ConvolutionCode<T>& code, const T* channel, const T* end_of_all, T outside, T* to) const {
  const ops::WindowAxis &b = window_[1], &c = window_[2];
  const std::int64_t rows = lines_[1].length, length = lines_[2].length;
  for (const Filled& of : filled_) {
    LinesCall<T> call{rows, of.first_row, of.end_row, length, of.first, of.end, nullptr, b.stride * c.in, c.stride, 0, outside, to};
    if (of.first_row < of.end_row) {
      call.from = channel + of.from;
      call.readable = end_of_all - call.from;
    }
    some_lines(code, call);
    to += rows * length;
  }
}

template void Planes::fill(const ConvolutionCode<float>&, const float*, const float*, float, float*) const;
template void Planes::fill(const ConvolutionCode<double>&, const double*, const double*, double, double*) const;

}  // namespace cleave::runtime::host
