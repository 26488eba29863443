// Pre- and post-processing of a transform of several lines side by side (fourier_plan.h): lines are split into real and imaginary parts and
// interleaved again, and the half-length transforms of real lines are split and joined. Independent of axes and operations.
#pragma once

#include <cstdint>

#include "executor/host/fourier_plan.h"
#include "executor/host/instructions.h"

namespace cleave::runtime::host {

/// Lines in memory, `stride` apart; the `numbers` of each line are contiguous.
template <class T>
struct LinesInMemory {
  T* first = nullptr;
  std::int64_t stride = 0, numbers = 0;
};

/// Loops compiled for one instruction set. Element j of line l is at `j * lines + l` of both parts.
template <class T>
struct LineLoops {
  /// Copies numbers 2j of each line to the real parts and numbers 2j + 1 to the imaginary parts.
  void (*take_apart)(const LinesInMemory<const T>& from, std::int64_t lines, SplitLines<T> to);
  /// The inverse of take_apart, times `scale`.
  void (*put_together)(SplitLines<T> from, std::int64_t lines, T scale, const LinesInMemory<T>& to);
  /// Elements k and half - k of Z, the transform of pairs of real numbers, give elements k and half - k of the whole transform X:
  ///  X[k] = E + w O with the transforms of the even numbers, E = (Z[k] + conj Z[half - k]) / 2, and of the odd ones,
  ///  O = (Z[k] - conj Z[half - k]) / 2i, and w = exp(-2 pi i k / n) = cosines[k] - i sines[k].
  void (*split)(SplitLines<T> z, std::int64_t lines, std::int64_t half, const T* cosines, const T* sines);
  /// The inverse of split, twice as large: Z[k] = (X[k] + conj X[half - k]) + i conj(w) (X[k] - conj X[half - k]). The first and last X are
  /// real.
  void (*join)(SplitLines<T> x, std::int64_t lines, std::int64_t half, const T* cosines, const T* sines);
};

/// The loops for `set`, which this processor must have; the default is its best.
template <class T>
const LineLoops<T>& line_loops(Instructions set = instructions());

}  // namespace cleave::runtime::host
