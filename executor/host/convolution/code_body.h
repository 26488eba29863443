// The loops behind ConvolutionCode, written with vectors of CLEAVE_CODE_BYTES and compiled once for each instruction set: each code_*.cpp
// defines the vector size and a namespace CLEAVE_CODE_NAME, and includes this. It must include nothing with inline functions of its own:
// the linker would keep one copy for all sets, possibly with instructions that the machine lacks.

#include <utility>

#include "executor/host/convolution/channel_body.h"
#include "executor/host/convolution/code.h"
#include "executor/host/convolution/vector_body.h"

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
constexpr ConvolutionCode<T> kCode = {kWidth<T>, lines<T>, pack<T>, slide<T>, slide_channel<T>, largest<T>, gather<T>, scale<T>};

}  // namespace

const ConvolutionCode<float>& convolution_f32() {
  return kCode<float>;
}
const ConvolutionCode<double>& convolution_f64() {
  return kCode<double>;
}

}  // namespace cleave::runtime::host::CLEAVE_CODE_NAME
// NOLINTEND(misc-definitions-in-headers)
