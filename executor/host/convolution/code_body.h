// The loops behind ConvolutionCode, written with vectors of CLEAVE_CODE_BYTES and compiled once for each instruction set: each code_*.cpp
// defines the vector size and a namespace CLEAVE_CODE_NAME, and includes this. It must include nothing with inline functions of its own:
// the linker would keep one copy for all sets, possibly with instructions that the machine lacks.

#include <utility>

#include "executor/host/convolution/channel_body.h"
#include "executor/host/convolution/code.h"
#include "executor/host/convolution/vector_body.h"
#include "executor/host/independent.h"

// NOLINTBEGIN(misc-definitions-in-headers): in another namespace in each file.
namespace cleave::runtime::host::CLEAVE_CODE_NAME {
namespace {

/// Computes to[i] = from[i * stride] for i < count, by vectors of `Bytes` bytes, then of half as many, and so on.
template <class T, int Bytes = kBytes>
inline __attribute__((always_inline)) void thin(const T* from, std::int64_t stride, std::int64_t count, T* to) {
  constexpr std::int64_t w = Bytes / static_cast<int>(sizeof(T));
  if constexpr (w == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  } else {
    std::int64_t i = 0;
    if (stride == 1) {
      for (; i + w <= count; i += w) store<T, Bytes>(to + i, load<T, Bytes>(from + i));
    } else if (stride == 2) {  // reads one element more than needed
      using Indices = std::make_index_sequence<static_cast<std::size_t>(w)>;
      for (; i + w < count; i += w)
        store<T, Bytes>(to + i, evens(load<T, Bytes>(from + 2 * i), load<T, Bytes>(from + 2 * i + w), Indices()));
    }
    if (i < count) thin<T, Bytes / 2>(from + i * stride, stride, count - i, to + i);
  }
}

/// Copies a line in whole registers: reads and writes pass its end, and the padding after it may extend over the beginning of the next
/// line, which is written later.
template <class T, int Stride>
inline __attribute__((always_inline)) void line(const T* from, std::int64_t count, T outside, T* to) {
  constexpr std::int64_t w = kWidth<T>;
  using Indices = std::make_index_sequence<static_cast<std::size_t>(w)>;
  for (std::int64_t i = 0; i < count; i += w) {
    const Vector<T> first = load(from + Stride * i);
    store<T>(to + i, Stride == 1 ? first : evens(first, load(from + 2 * i + w), Indices()));
  }
  store<T>(to + count, Vector<T>{} + outside);
}

/// Copies rows from `row` on by `line`, to `to`, as long as its excess reads and writes stay within bounds; returns the first row that is
/// left.
template <class T, int Stride>
std::int64_t whole_lines(const LinesCall<T>& call, std::int64_t row, T* to) {
  constexpr std::int64_t w = kWidth<T>;
  const std::int64_t count = call.end - call.first, registers = (count + w - 1) / w * w;
  if (call.first + call.length - call.end > w) return row;
  const std::int64_t reads = Stride * registers, writes = registers > count + w ? registers : count + w;
  const T* from = call.from;
  const T *const from_end = call.from + call.readable, *const to_end = call.to + call.rows * call.length;
  for (; row < call.end_row; ++row, from += call.from_row, to += call.length) {
    if (from_end - from < reads || to_end - to < call.first + writes) break;
    line<T, Stride>(from, count, call.outside, to + call.first);
  }
  return row;
}

template <class T>
void lines(const LinesCall<T>& call) {
  std::int64_t row = call.first_row;
  fill(call.to, row * call.length + (row < call.end_row ? call.first : 0), call.outside);
  T* to = call.to + row * call.length;
  if (call.stride == 1) row = whole_lines<T, 1>(call, row, to);
  if (call.stride == 2) row = whole_lines<T, 2>(call, row, to);
  const T* from = call.from + (row - call.first_row) * call.from_row;
  to = call.to + row * call.length;
  for (; row < call.end_row; ++row, to += call.length, from += call.from_row) {
    fill(to, call.first, call.outside);
    thin(from, call.stride, call.end - call.first, to + call.first);
    fill(to + call.end, call.length - call.end, call.outside);
  }
  fill(to, (call.rows - row) * call.length, call.outside);
}

/// For one register of a panel: the addresses of up to S source pieces, each as if it began with the register, and the element at which
/// each begins.
template <class T, int S>
struct Pieces {
  std::int64_t from[S];
  Vector<T> begin[S];
};

/// Packs panels of N registers, each register assembled from at most S lines of the planes and stored once.
template <class T, int N, int S>
void pack_registers(const PanelCall<T>& call) {
  constexpr std::int64_t w = kWidth<T>;
  Pieces<T, S> pieces[N];
  const PanelRun* run = call.runs;
  for (int n = 0; n < N; ++n) {
    while (run->to + run->count <= n * w) ++run;
    for (int s = 0; s < S; ++s) {
      if (s > 0 && run->to + run->count < (n + 1) * w) ++run;
      pieces[n].from[s] = run->from + n * w - run->to;
      pieces[n].begin[s] = Vector<T>{} + static_cast<T>(run->to - n * w);
    }
  }
  const Vector<T> indices = indices_of<T>(std::make_index_sequence<static_cast<std::size_t>(w)>());
  T* to = call.to;
  for (std::int64_t line = 0; line < call.lines; ++line, to += call.width) {
    const T* from = call.from + call.offsets[line];
#pragma GCC unroll 3
    for (int n = 0; n < N; ++n) {
      Vector<T> all = load(from + pieces[n].from[0]);
#pragma GCC unroll 4
      for (int s = 1; s < S; ++s) all = indices < pieces[n].begin[s] ? all : load(from + pieces[n].from[s]);
      store(to + n * w, all);
    }
  }
}

/// The largest number of lines that contribute to one register of a panel.
template <class T>
int most_pieces(const PanelCall<T>& call) {
  constexpr std::int64_t w = kWidth<T>;
  int most = 0;
  for (std::int64_t begin = 0; begin < call.width; begin += w) {
    int pieces = 0;
    for (std::int64_t r = 0; r < call.run_count; ++r) {
      const PanelRun& run = call.runs[r];
      if (run.to < begin + w && run.to + run.count > begin) ++pieces;
    }
    if (pieces > most) most = pieces;
  }
  return most;
}

/// Packs by registers; false if no specialization applies.
template <class T, int N>
bool pack_by_registers(const PanelCall<T>& call) {
  switch (most_pieces(call)) {
    case 1: pack_registers<T, N, 1>(call); return true;
    case 2: pack_registers<T, N, 2>(call); return true;
    case 3: pack_registers<T, N, 3>(call); return true;
    default: return false;
  }
}

template <class T>
void pack(const PanelCall<T>& call) {
  constexpr std::int64_t w = kWidth<T>;
  const PanelRun& end = call.runs[call.run_count - 1];
  if (!call.exact && end.to + end.count == call.width) {
    if (call.width == 3 * w && pack_by_registers<T, 3>(call)) return;
    if (call.width == 2 * w && pack_by_registers<T, 2>(call)) return;
  }
  T* to = call.to;
  for (std::int64_t line = 0; line < call.lines; ++line, to += call.width) {
    const T* from = call.from + call.offsets[line];
    for (std::int64_t r = 0; r < call.run_count; ++r) {
      const PanelRun& run = call.runs[r];
      const T* source = from + run.from;
      T* target = to + run.to;
      std::int64_t i = 0;
      for (; i + w <= run.count; i += w) store(target + i, load(source + i));
      if (i == run.count) continue;
      // The excess elements are overwritten by the next run.
      if (!call.exact && run.to + i + w <= call.width) {
        store(target + i, load(source + i));
      } else {
        for (; i < run.count; ++i) target[i] = source[i];
      }
    }
  }
}

/// The two accumulations over lines: their initial value, and the accumulation of one line.
template <class T>
struct SumOfProducts {
  const T* weights;
  T bias;
  [[gnu::always_inline]] T first() const { return bias; }
  template <class V>
  [[gnu::always_inline]] V with(const V& sum, std::int64_t d, const V& line) const {
    return sum + weights[d] * line;
  }
};
template <class T>
struct Largest {
  [[gnu::always_inline]] T first() const { return -static_cast<T>(__builtin_inf()); }
  template <class V>
  [[gnu::always_inline]] V with(const V& most, std::int64_t, const V& line) const {
    const V larger = line > most ? line : most;
    return line != line ? line : larger;
  }
};

template <class T, int N, class Take>
inline __attribute__((always_inline)) void slide_block(std::int64_t depth, const T* from, const std::int64_t* offsets, const Take& take,
                                                       T* to) {
  constexpr std::int64_t w = kWidth<T>;
  Vector<T> taken[N];
#pragma GCC unroll 8
  for (int n = 0; n < N; ++n) taken[n] = Vector<T>{} + take.first();
  for (std::int64_t d = 0; d < depth; ++d) {
    const T* line = from + offsets[d];
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) taken[n] = take.with(taken[n], d, load(line + n * w));
  }
#pragma GCC unroll 8
  for (int n = 0; n < N; ++n) store(to + n * w, taken[n]);
}

template <class T, class Take>
inline __attribute__((always_inline)) void slide_with(std::int64_t count, std::int64_t depth, const T* from, const std::int64_t* offsets,
                                                      const Take& take, T* to) {
  constexpr std::int64_t w = kWidth<T>;
  std::int64_t i = 0;
  for (; i + 8 * w <= count; i += 8 * w) slide_block<T, 8>(depth, from + i, offsets, take, to + i);
  switch ((count - i) / w) {
    case 7: slide_block<T, 7>(depth, from + i, offsets, take, to + i); break;
    case 6: slide_block<T, 6>(depth, from + i, offsets, take, to + i); break;
    case 5: slide_block<T, 5>(depth, from + i, offsets, take, to + i); break;
    case 4: slide_block<T, 4>(depth, from + i, offsets, take, to + i); break;
    case 3: slide_block<T, 3>(depth, from + i, offsets, take, to + i); break;
    case 2: slide_block<T, 2>(depth, from + i, offsets, take, to + i); break;
    case 1: slide_block<T, 1>(depth, from + i, offsets, take, to + i); break;
    default: break;
  }
  i += (count - i) / w * w;
  if (i < count && count >= w) {  // the last vector overlaps the one before
    i = count - w;
    return slide_block<T, 1>(depth, from + i, offsets, take, to + i);
  }
  for (; i < count; ++i) {
    T one = take.first();
    for (std::int64_t d = 0; d < depth; ++d) one = take.with(one, d, from[offsets[d] + i]);
    to[i] = one;
  }
}

template <class T>
void slide(std::int64_t count, std::int64_t depth, const T* from, const std::int64_t* offsets, const T* weights, T bias, T* to) {
  slide_with(count, depth, from, offsets, SumOfProducts<T>{weights, bias}, to);
}

template <class T>
void largest(std::int64_t count, std::int64_t depth, const T* from, const std::int64_t* offsets, T* to) {
  slide_with(count, depth, from, offsets, Largest<T>{}, to);
}

/// to[i] = the larger of a[i] and b[i], by vectors of `Bytes` bytes, then of half as many, and so on.
template <class T, int Bytes = kBytes>
inline __attribute__((always_inline)) void larger_of(std::int64_t count, const T* a, const T* b, T* to) {
  constexpr std::int64_t w = Bytes / static_cast<int>(sizeof(T));
  std::int64_t i = 0;
  if constexpr (w == 1) {
    for (; i < count; ++i) to[i] = Largest<T>().with(a[i], 0, b[i]);
  } else {
    for (; i + w <= count; i += w) store<T, Bytes>(to + i, Largest<T>().with(load<T, Bytes>(a + i), 0, load<T, Bytes>(b + i)));
    if (i < count) larger_of<T, Bytes / 2>(count - i, a + i, b + i, to + i);
  }
}

template <class T>
void largest_of_squares(std::int64_t rows, std::int64_t count, const T* from, T* room, T* to) {
  constexpr std::int64_t w = kWidth<T>;
  using Indices = std::make_index_sequence<static_cast<std::size_t>(w)>;
  const std::int64_t pairs = 2 * rows * count;  // no pair crosses the end of a line
  std::int64_t i = 0;
  for (; i + w <= pairs; i += w) {
    const Vector<T> x = load(from + 2 * i), y = load(from + 2 * i + w);
    store<T>(room + i, Largest<T>().with(evens(x, y, Indices()), 0, odds(x, y, Indices())));
  }
  for (; i < pairs; ++i) room[i] = Largest<T>().with(from[2 * i], 0, from[2 * i + 1]);
  for (std::int64_t row = 0; row < rows; ++row, room += 2 * count, to += count) larger_of<T>(count, room, room + count, to);
}

/// `spread_to_squares` for one pair of lines, by vectors of `Bytes` bytes, then of half as many, and so on.
template <class T, int Bytes = kBytes>
inline __attribute__((always_inline)) void spread_line(std::int64_t count, const T* above, const T* below, const T* g, T* to_above,
                                                       T* to_below) {
  constexpr std::int64_t w = Bytes / static_cast<int>(sizeof(T));
  std::int64_t i = 0;
  if constexpr (w == 1) {
    for (; i < count; ++i, above += 2, below += 2, to_above += 2, to_below += 2) {
      const T elements[] = {above[0], above[1], below[0], below[1]};
      int place = 0;
      for (int k = 1; k < 4; ++k) place = elements[k] > elements[place] || elements[k] != elements[k] ? k : place;
      to_above[0] = to_above[1] = to_below[0] = to_below[1] = 0;
      (place < 2 ? to_above : to_below)[place % 2] += g[i];
    }
  } else {
    using V = Vector<T, Bytes>;
    constexpr std::make_index_sequence<static_cast<std::size_t>(w)> indices;
    for (; i + w <= count; i += w, above += 2 * w, below += 2 * w, to_above += 2 * w, to_below += 2 * w) {
      const V first = load<T, Bytes>(above), second = load<T, Bytes>(above + w);
      const V third = load<T, Bytes>(below), fourth = load<T, Bytes>(below + w);
      const V a = evens(first, second, indices), b = odds(first, second, indices);
      const V c = evens(third, fourth, indices), d = odds(third, fourth, indices);
      const V zero = {}, all = zero + load<T, Bytes>(g + i);
      const auto at_b = (b > a) | (b != b);
      const V top = at_b ? b : a;
      const auto at_c = (c > top) | (c != c);
      const V most = at_c ? c : top;
      const auto at_d = (d > most) | (d != d);
      const V not_d = at_d ? zero : all, not_c = at_c ? zero : not_d;
      const V at_first = at_b ? zero : not_c, at_second = at_b ? not_c : zero, at_third = at_c ? not_d : zero,
              at_fourth = at_d ? all : zero;
      store<T, Bytes>(to_above, in_turn<false>(at_first, at_second, indices));
      store<T, Bytes>(to_above + w, in_turn<true>(at_first, at_second, indices));
      store<T, Bytes>(to_below, in_turn<false>(at_third, at_fourth, indices));
      store<T, Bytes>(to_below + w, in_turn<true>(at_third, at_fourth, indices));
    }
    if (i < count) spread_line<T, Bytes / 2>(count - i, above, below, g + i, to_above, to_below);
  }
}

template <class T>
void spread_to_squares(std::int64_t rows, std::int64_t count, const T* from, const T* g, T* to) {
  for (std::int64_t row = 0; row < rows; ++row, from += 4 * count, to += 4 * count, g += count)
    spread_line<T>(count, from, from + 2 * count, g, to, to + 2 * count);
}

template <class T>
void largest_places(const PlacesCall<T>& call) {
  T most[kMostPlaces];
  std::int32_t* const at = call.places;
  for (std::int64_t d = 0; d < call.taps; ++d) {
    const std::int32_t* index = call.index + call.rows[d];
    const auto base = static_cast<std::int32_t>(call.bases[d]);
    const T* from = call.from + base;
    if (d == 0) {
      CLEAVE_INDEPENDENT
      for (std::int64_t p = 0; p < call.count; ++p) {
        most[p] = from[index[p]];
        at[p] = base + index[p];
      }
      continue;
    }
    CLEAVE_INDEPENDENT
    for (std::int64_t p = 0; p < call.count; ++p) {
      const T element = from[index[p]], before = most[p];
      const std::int32_t place = base + index[p], earlier = at[p];
      const bool larger = (element > before) | (element != element);
      most[p] = larger ? element : before;
      at[p] = larger ? place : earlier;
    }
  }
}

template <class T>
void gather(std::int64_t rows, std::int64_t count, const T* from, std::int64_t from_row, T* to) {
  constexpr std::int64_t w = kWidth<T>;
  const T* const end = to + rows * count;
  for (std::int64_t row = 0; row < rows; ++row, from += from_row, to += count) {
    std::int64_t i = 0;
    for (; i < count && to + i + w <= end; i += w) store(to + i, load(from + i));
    for (; i < count; ++i) to[i] = from[i];
  }
}

template <class T>
void scale(std::int64_t count, const T* by, T* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] *= by[i];
}

template <class T>
constexpr ConvolutionCode<T> kCode = {
    kWidth<T>,         lines<T>,  pack<T>, slide<T>, slide_channel<T>, largest<T>, largest_of_squares<T>, spread_to_squares<T>,
    largest_places<T>, gather<T>, scale<T>};

}  // namespace

const ConvolutionCode<float>& convolution_f32() {
  return kCode<float>;
}
const ConvolutionCode<double>& convolution_f64() {
  return kCode<double>;
}

}  // namespace cleave::runtime::host::CLEAVE_CODE_NAME
// NOLINTEND(misc-definitions-in-headers)
