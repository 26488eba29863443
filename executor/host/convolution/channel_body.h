// The loops behind ConvolutionCode::slide_channel: each line of a channel is read once and accumulated into all result lines that need it.
// Compiled once for each instruction set: code_body.h includes this and says how.
#pragma once

#include "executor/host/convolution/code.h"
#include "executor/host/convolution/vector_body.h"

// NOLINTBEGIN(misc-definitions-in-headers): in another namespace in each file.
namespace cleave::runtime::host::CLEAVE_CODE_NAME {
namespace {

/// Shifts a register: its element i becomes element i + Shift of x, or zero outside.
template <int Shift, class V, std::size_t... I>
inline __attribute__((always_inline)) V shifted(V x, std::index_sequence<I...>) {
  constexpr int w = static_cast<int>(sizeof...(I));
  if constexpr (Shift == 0) {
    return x;
  } else {
    return __builtin_shufflevector(
        x, V{}, (static_cast<int>(I) + Shift >= 0 && static_cast<int>(I) + Shift < w ? static_cast<int>(I) + Shift : w)...);
  }
}

/// Adds to `sum` a line's elements times one row of the kernel's weights, from column Column on.
template <class T, int Kernel, int Column = 1>
inline __attribute__((always_inline)) Vector<T> take_line(Vector<T> sum, const Vector<T> (&columns)[Kernel], const T* weights) {
  if constexpr (Column == Kernel) {
    return sum;
  } else {
    return take_line<T, Kernel, Column + 1>(sum + weights[Column] * columns[Column], columns, weights);
  }
}

/// The accumulators of the result lines to which the current line of the channel contributes, one for each row of the kernel.
template <class T, int Kernel>
struct OpenLines {
  Vector<T> sums[Kernel];
  T bias;

  [[gnu::always_inline]] explicit OpenLines(T start) : bias(start) {
#pragma GCC unroll 5
    for (int k = 0; k < Kernel; ++k) sums[k] = Vector<T>{} + bias;
  }
  [[gnu::always_inline]] void take(const Vector<T> (&columns)[Kernel], const T* weights) {
    asm volatile("" : : : "memory");  // a compiler barrier: weights are reloaded at each use, so that registers hold accumulators
#pragma GCC unroll 5
    for (int k = 0; k < Kernel; ++k) {
      const T* row = weights + (Kernel - 1 - k) * Kernel;
      sums[k] += take_line<T, Kernel>(row[0] * columns[0], columns, row);
    }
  }
  /// Returns the first accumulator, which is complete, and shifts the others.
  [[gnu::always_inline]] Vector<T> next() {
    const Vector<T> done = sums[0];
#pragma GCC unroll 5
    for (int k = 0; k + 1 < Kernel; ++k) sums[k] = sums[k + 1];
    sums[Kernel - 1] = Vector<T>{} + bias;
    return done;
  }
};

/// How the operand for one column of the kernel is obtained.
enum class Columns : std::uint8_t {
  shifted,  ///< by shifting: the whole line is in a register
  first,    ///< for the first windows of a longer line: some elements are padding
  inner,    ///< loaded from memory directly
};

template <class T, std::size_t... I>
inline __attribute__((always_inline)) Vector<T> indices_of(std::index_sequence<I...>) {
  return Vector<T>{static_cast<T>(I)...};
}

/// Loads a line's elements from `at` on, with zeros after its end.
template <class T>
inline __attribute__((always_inline)) Vector<T> load_line(const T* line, std::int64_t at, std::int64_t length, const Vector<T>& indices) {
  return indices < Vector<T>{} + static_cast<T>(length - at) ? load(line + at) : Vector<T>{};
}

/// The elements that windows from `begin` on see through column Shift + Kernel / 2; `first`: the line's first elements.
template <class T, Columns From, int Shift>
inline __attribute__((always_inline)) Vector<T> column_of(const Vector<T>& first, const T* line, std::int64_t begin, std::int64_t length,
                                                          const Vector<T>& indices) {
  if constexpr (From == Columns::shifted || (From == Columns::first && Shift < 0)) {
    return shifted<Shift>(first, std::make_index_sequence<static_cast<std::size_t>(kWidth<T>)>());
  } else {
    return load_line(line, begin + Shift, length, indices);
  }
}

template <class T, int Kernel, Columns From, std::size_t... I>
void slide_strip(const SlideCall<T>& call, std::int64_t begin, std::index_sequence<I...>) {
  constexpr std::int64_t w = kWidth<T>;
  T edge[w + Kernel];
  const Vector<T> indices = indices_of<T>(std::make_index_sequence<static_cast<std::size_t>(w)>());
  OpenLines<T, Kernel> open(call.bias);
  T* const end = call.to + call.out_lines * call.width;
  T* to = call.to + begin;
  const auto give = [&]() __attribute__((always_inline)) {
    const Vector<T> done = open.next();
    if (to + w <= end) {
      store(to, done);  // the part past the end of a short line is overwritten by the next line
    } else {
      store(edge, done);
      for (std::int64_t i = 0; i < call.width; ++i) to[i] = edge[i];
    }
    to += call.width;
  };
  const T* from = call.from;
  for (std::int64_t line = 0; line < call.lines; ++line, from += call.length) {
    if (call.end - from >= begin + Kernel / 2 + w) {
      const Vector<T> first = From == Columns::inner ? Vector<T>{} : load_line(from, 0, call.length, indices);
      const Vector<T> columns[Kernel] = {column_of<T, From, static_cast<int>(I) - Kernel / 2>(first, from, begin, call.length, indices)...};
      open.take(columns, call.weights);
    } else {
      for (std::int64_t i = 0; i < w + Kernel - 1; ++i) {
        const std::int64_t at = begin + i - Kernel / 2;
        edge[i] = at >= 0 && at < call.length ? from[at] : T(0);
      }
      const Vector<T> columns[Kernel] = {load(edge + I)...};
      open.take(columns, call.weights);
    }
    line + call.before + 1 < Kernel ? void(open.next()) : give();
  }
  for (std::int64_t line = call.lines; line + call.before + 1 < Kernel; ++line) open.next();  // the channel has fewer lines than a window
  while (to < end) give();
}

/// Loads every second element of a line from `at` on, with zeros after its end.
template <class T>
inline __attribute__((always_inline)) Vector<T> load_second(const T* line, std::int64_t at, std::int64_t length, const Vector<T>& indices) {
  return evens(load_line(line, at, length, indices), load_line(line, at + kWidth<T>, length, indices),
               std::make_index_sequence<static_cast<std::size_t>(kWidth<T>)>());
}

/// For windows with stride 2, loads the elements that they see through each column, from window `begin` on.
template <class T, int Kernel, bool First>
inline __attribute__((always_inline)) void load_columns(const T* line, std::int64_t begin, std::int64_t length, const Vector<T>& indices,
                                                        Vector<T> (&columns)[Kernel]) {
#pragma GCC unroll 5
  for (int column = First ? Kernel / 2 : 0; column < Kernel; ++column)
    columns[column] = load_second(line, 2 * begin + column - Kernel / 2, length, indices);
  if constexpr (First) {  // the previous window sees the same element two columns to the right
#pragma GCC unroll 5
    for (int column = 0; column < Kernel / 2; ++column)
      columns[column] = shifted<-1>(columns[column + 2], std::make_index_sequence<static_cast<std::size_t>(kWidth<T>)>());
  }
}

/// Computes one register's width of all result lines, for stride 2 in both directions.
template <class T, int Kernel, bool First>
void slide_second_strip(const SlideCall<T>& call, std::int64_t begin) {
  constexpr std::int64_t w = kWidth<T>, open = Kernel / 2 + 1;
  const Vector<T> indices = indices_of<T>(std::make_index_sequence<static_cast<std::size_t>(w)>());
  T edge[2 * w + Kernel];
  Vector<T> sums[open];
#pragma GCC unroll 3
  for (int i = 0; i < open; ++i) sums[i] = Vector<T>{} + call.bias;
  T* const end = call.to + call.out_lines * call.width;
  T* to = call.to + begin;
  const auto next = [&](bool wanted) __attribute__((always_inline)) {
    if (wanted && to + w <= end) {
      store(to, sums[0]);  // the part past the end of a short line is overwritten by the next line
    } else if (wanted) {
      store(edge, sums[0]);
      for (std::int64_t i = 0; i < call.width; ++i) to[i] = edge[i];
    }
    if (wanted) to += call.width;
#pragma GCC unroll 3
    for (int i = 0; i + 1 < open; ++i) sums[i] = sums[i + 1];
    sums[open - 1] = Vector<T>{} + call.bias;
  };
  std::int64_t at = call.before;  // index of the line, counting padding
  for (const T* from = call.from; at < call.lines + call.before; ++at, from += call.length) {
    Vector<T> columns[Kernel];
    if (call.end - from >= 2 * (begin + w) + Kernel / 2) {
      load_columns<T, Kernel, First>(from, begin, call.length, indices, columns);
    } else {
      for (std::int64_t i = 0; i < 2 * w + Kernel; ++i) {
        const std::int64_t place = 2 * begin + i - Kernel / 2;
        edge[i] = place >= 0 && place < call.length ? from[place] : T(0);
      }
#pragma GCC unroll 5
      for (int column = 0; column < Kernel; ++column) columns[column] = load_second(edge, column, 2 * w + Kernel, indices);
    }
    asm volatile("" : : : "memory");  // a compiler barrier: weights are reloaded at each use, so that registers hold accumulators
    const auto take = [&](int odd) __attribute__((always_inline)) {
#pragma GCC unroll 3
      for (int k = odd; k < Kernel; k += 2)
        sums[open - 1 - (k + odd) / 2] += take_line<T, Kernel>(call.weights[k * Kernel] * columns[0], columns, call.weights + k * Kernel);
    };
    if (at % 2 == 0) {
      take(0);
      next(at / 2 >= open - 1);
    } else {
      take(1);
    }
  }
  for (; at / 2 < open - 1; ++at)  // the channel has fewer lines than a window
    if (at % 2 == 0) next(false);
  while (to < end) next(true);
}

template <class T, int Kernel>
void slide_second_of(const SlideCall<T>& call) {
  constexpr std::int64_t w = kWidth<T>;
  slide_second_strip<T, Kernel, true>(call, 0);
  std::int64_t begin = w;
  for (; begin + w <= call.width; begin += w) slide_second_strip<T, Kernel, false>(call, begin);
  if (begin < call.width) slide_second_strip<T, Kernel, false>(call, call.width - w);
}

template <class T, int Kernel>
void slide_channel_of(const SlideCall<T>& call) {
  if (call.stride == 2) return slide_second_of<T, Kernel>(call);
  constexpr std::int64_t w = kWidth<T>;
  constexpr std::make_index_sequence<static_cast<std::size_t>(Kernel)> all;
  if (call.length <= w && call.width <= w) return slide_strip<T, Kernel, Columns::shifted>(call, 0, all);
  slide_strip<T, Kernel, Columns::first>(call, 0, all);
  std::int64_t begin = w;
  for (; begin + w <= call.width; begin += w) slide_strip<T, Kernel, Columns::inner>(call, begin, all);
  if (begin < call.width) slide_strip<T, Kernel, Columns::inner>(call, call.width - w, all);
}

template <class T>
void slide_channel(const SlideCall<T>& call) {
  call.kernel == 3 ? slide_channel_of<T, 3>(call) : slide_channel_of<T, 5>(call);
}

}  // namespace
}  // namespace cleave::runtime::host::CLEAVE_CODE_NAME
// NOLINTEND(misc-definitions-in-headers)
