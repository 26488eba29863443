// What stands before and behind a transform of several lines side by side (fourier_plan.h): lines are taken apart into real and imaginary
// parts and put together again, and the halves of real lines' transforms are split and joined. Knows neither axes nor operations.
#pragma once

#include <cstdint>

#include "executor/host/fourier_plan.h"
#include "executor/host/instructions.h"

namespace cleave::runtime::host {

/// Lines in memory, `stride` apart, of numbers that lie side by side.
template <class T>
struct LinesInMemory {
  T* first = nullptr;
  std::int64_t stride = 0, numbers = 0;
};

/// Loops of one set of instructions. Element j of line l is at `j * lines + l` of both parts.
template <class T>
struct LineLoops {
  /// Numbers 2j of each line to the real parts, 2j + 1 to the imaginary ones.
  void (*take_apart)(const LinesInMemory<const T>& from, std::int64_t lines, SplitLines<T> to);
  /// The other way, times `scale`.
  void (*put_together)(SplitLines<T> from, std::int64_t lines, T scale, const LinesInMemory<T>& to);
  /// Elements k and half - k of the transform Z of pairs of real numbers give both of the whole one: X[k] = E + w O with the transforms of
  /// the even numbers, E = (Z[k] + conj Z[half - k]) / 2, and of the odd ones, O = (Z[k] - conj Z[half - k]) / 2i, and
  /// w = exp(-2 pi i k / n) = cosines[k] - i sines[k].
  void (*split)(SplitLines<T> z, std::int64_t lines, std::int64_t half, const T* cosines, const T* sines);
  /// The other way: Z[k] = (X[k] + conj X[half - k]) + i conj(w) (X[k] - conj X[half - k]), twice as large. The first and last X are real.
  void (*join)(SplitLines<T> x, std::int64_t lines, std::int64_t half, const T* cosines, const T* sines);
};

/// Those of the machine's best instructions, or of others that it has.
template <class T>
const LineLoops<T>& line_loops(Instructions set = instructions());

}  // namespace cleave::runtime::host
