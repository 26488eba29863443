// The loops behind ProductCode, written with vectors of CLEAVE_CODE_BYTES and compiled once for each instruction set: each code_*.cpp
// defines the sizes and a namespace CLEAVE_CODE_NAME, and includes this. It must include nothing with inline functions of its own: the
// linker would keep one copy for all sets, possibly with instructions that the machine lacks.
//
// Arithmetic is strict with one exception: a multiplication and its addition are fused (rounded once) if the processor can.

#include <utility>

#include "executor/host/matmul/code.h"

// NOLINTBEGIN(misc-definitions-in-headers): in another namespace in each file.
namespace cleave::runtime::host::CLEAVE_CODE_NAME {
namespace {

constexpr int kBytes = CLEAVE_CODE_BYTES;
constexpr int kRows = CLEAVE_CODE_ROWS;  // so that 3 accumulators a row and 4 registers for operands fill the register file

template <class T, int Bytes = kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(Bytes)));
};
template <class T, int Bytes = kBytes>
using Vector = typename VectorOf<T, Bytes>::type;

template <class T>
constexpr std::int64_t kWidth = kBytes / static_cast<int>(sizeof(T));

template <class V, class T>
inline __attribute__((always_inline)) V load(const T* from) {
  V value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
template <class V, class T>
inline __attribute__((always_inline)) void store(T* to, const V& value) {
  __builtin_memcpy(to, &value, sizeof value);
}

template <class V, std::int64_t First, std::size_t... I>
inline __attribute__((always_inline)) auto elements_from(V x, std::index_sequence<I...>) {
  return __builtin_shufflevector(x, x, (First + static_cast<std::int64_t>(I))...);
}

/// Stores the first `count` elements, fewer than a register has.
template <class T, int Bytes = kBytes>
inline __attribute__((always_inline)) void store_first(T* to, Vector<T, Bytes> value, std::int64_t count) {
  constexpr std::int64_t half = Bytes / static_cast<int>(sizeof(T)) / 2;
  using Indices = std::make_index_sequence<static_cast<std::size_t>(half)>;
  if constexpr (half == 1) {
    if (count > 0) *to = value[0];
  } else {
    auto part = elements_from<Vector<T, Bytes>, 0>(value, Indices());
    if (count >= half) {
      store(to, part);
      part = elements_from<Vector<T, Bytes>, half>(value, Indices());
      to += half;
      count -= half;
    }
    store_first<T, Bytes / 2>(to, part, count);
  }
}

/// The micro-kernel: a tile of R rows and N registers, accumulated in registers over all of `inner`.
template <class T, int R, int N>
inline __attribute__((always_inline)) void tile(std::int64_t inner, const T* a, std::int64_t a_row, std::int64_t a_inner, const T* b,
                                                std::int64_t b_inner, T* c, std::int64_t c_row, std::int64_t columns, bool add,
                                                const T* bias) {
  using V = Vector<T>;
  constexpr std::int64_t w = kWidth<T>;
  V sum[R][N] = {};
  for (std::int64_t k = 0; k < inner; ++k) {
    V right[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) right[n] = load<V>(b + n * w);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const T left = a[r * a_row];
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) sum[r][n] += left * right[n];
    }
    a += a_inner;
    b += b_inner;
  }
  if (bias) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) sum[r][n] += bias[r];
    }
  }
  if (columns == N * w) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) {
        T* to = c + r * c_row + n * w;
        store(to, add ? V(load<V>(to) + sum[r][n]) : sum[r][n]);
      }
    }
    return;
  }
  if (!add) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int n = 0; n < N - 1; ++n) store(c + r * c_row + n * w, sum[r][n]);
      store_first<T>(c + r * c_row + (N - 1) * w, sum[r][N - 1], columns - (N - 1) * w);
    }
    return;
  }
  T edge[R][N * w];
  __builtin_memcpy(edge, sum, sizeof edge);
  for (int r = 0; r < R; ++r) {
    T* to = c + r * c_row;
    for (std::int64_t j = 0; j < columns; ++j) to[j] += edge[r][j];
  }
}

template <class T, int N>
__attribute__((noinline)) void column_of_tiles(const BlockCall<T>& call, const T* b, std::int64_t b_inner, T* c, std::int64_t columns) {
  constexpr std::int64_t w = kWidth<T>;
  const T* a = call.a.at;
  std::int64_t i = 0;
  const auto bias = [&] { return call.bias ? call.bias + i : nullptr; };
  const std::int64_t a_row = call.packed_a ? 1 : call.a.row, a_inner = call.packed_a ? kRows : call.a.column;
  const std::int64_t a_panel = call.packed_a ? kRows * call.inner : kRows * call.a.row;
  for (; i + kRows <= call.rows; i += kRows, a += a_panel) {
    for (int r = 0; r < kRows; ++r) {
      for (std::int64_t n = 0; n < N; ++n) __builtin_prefetch(c + (i + r) * call.c.row + n * w, 1);
      if (a_inner > 1) continue;
      __builtin_prefetch(a + a_panel + r * a_row);  // only the beginnings of the next rows: the hardware prefetcher continues
      __builtin_prefetch(a + a_panel + r * a_row + w);
    }
    tile<T, kRows, N>(call.inner, a, a_row, a_inner, b, b_inner, c + i * call.c.row, call.c.row, columns, call.add, bias());
  }
  const auto rest = [&]<int R>() {
    tile<T, R, N>(call.inner, a, a_row, a_inner, b, b_inner, c + i * call.c.row, call.c.row, columns, call.add, bias());
  };
  switch (call.rows - i) {
    case 1: return rest.template operator()<1>();
    case 2: return rest.template operator()<2>();
    case 3: return rest.template operator()<3>();
    case 4: return rest.template operator()<(kRows > 4 ? 4 : 1)>();
    case 5: return rest.template operator()<(kRows > 4 ? 5 : 1)>();
    case 6: return rest.template operator()<(kRows > 4 ? 6 : 1)>();
    case 7: return rest.template operator()<(kRows > 4 ? 7 : 1)>();
    default: return;
  }
}

template <class T>
void block(const BlockCall<T>& call) {
  constexpr std::int64_t w = kWidth<T>;
  const T* b = call.b.at;
  for (std::int64_t j = 0; j < call.columns;) {
    const std::int64_t panel = panel_width(call.columns - j, w);
    const std::int64_t columns = call.columns - j < panel ? call.columns - j : panel;
    const std::int64_t b_inner = call.packed_b ? panel : call.b.row;
    switch (panel / w) {
      case 1: column_of_tiles<T, 1>(call, b, b_inner, call.c.at + j, columns); break;
      case 2: column_of_tiles<T, 2>(call, b, b_inner, call.c.at + j, columns); break;
      default: column_of_tiles<T, 3>(call, b, b_inner, call.c.at + j, columns); break;
    }
    b += call.packed_b ? panel * call.inner : panel;
    j += panel;
  }
}

/// Interleaves two vectors: their lower halves, or their upper halves.
template <class V, std::int64_t Base, std::size_t... I>
inline __attribute__((always_inline)) V interleave(V x, V y, std::index_sequence<I...>) {
  constexpr std::int64_t w = sizeof...(I);
  return __builtin_shufflevector(x, y, (Base + static_cast<std::int64_t>(I) / 2 + (I % 2 == 0 ? 0 : w))...);
}

/// Transposes a square block of registers by log2(rows) rounds of interleaving, like a perfect shuffle.
template <class T>
inline __attribute__((always_inline)) void transpose(Vector<T> (&square)[kWidth<T>]) {
  constexpr int w = static_cast<int>(kWidth<T>);
  using Indices = std::make_index_sequence<static_cast<std::size_t>(w)>;
#pragma GCC unroll 4
  for (int round = 1; round < w; round *= 2) {
    Vector<T> dealt[w];
#pragma GCC unroll 16
    for (int i = 0; i < w / 2; ++i) {
      dealt[2 * i] = interleave<Vector<T>, 0>(square[i], square[i + w / 2], Indices());
      dealt[2 * i + 1] = interleave<Vector<T>, w / 2>(square[i], square[i + w / 2], Indices());
    }
#pragma GCC unroll 16
    for (int i = 0; i < w; ++i) square[i] = dealt[i];
  }
}

/// Packs up to a register's number of lines, contiguous along k: to[k * stride + line] = line `line` at k. Writes a whole register for each
/// k.
template <class T>
void pack_across(const T* from, std::int64_t line_stride, std::int64_t lines, std::int64_t inner, T* to, std::int64_t stride) {
  constexpr int w = static_cast<int>(kWidth<T>);
  using V = Vector<T>;
  std::int64_t k = 0;
  for (; k + w <= inner; k += w) {
    V square[w];
#pragma GCC unroll 16
    for (int line = 0; line < w; ++line) square[line] = line < lines ? load<V>(from + line * line_stride + k) : V{};
    transpose<T>(square);
#pragma GCC unroll 16
    for (int i = 0; i < w; ++i) store(to + (k + i) * stride, square[i]);
  }
  for (; k < inner; ++k) {
    for (int line = 0; line < w; ++line) to[k * stride + line] = line < lines ? from[line * line_stride + k] : T(0);
  }
}

/// Packs `lines` lines into a panel `to[k][0 .. panel)`, padded with zeros.
template <class T>
void pack_panel(const Matrix<const T>& lines_by_inner, std::int64_t lines, std::int64_t inner, T* to, std::int64_t panel) {
  const auto [from, line_stride, inner_stride] = lines_by_inner;
  constexpr std::int64_t w = kWidth<T>;
  using V = Vector<T>;
  if (inner_stride == 1 && lines > 1) {
    for (std::int64_t line = 0; line < lines; line += w)
      pack_across(from + line * line_stride, line_stride, lines - line < w ? lines - line : w, inner, to + line, panel);
    return;
  }
  if (line_stride == 1 && lines == panel && panel % w == 0) {
    for (std::int64_t k = 0; k < inner; ++k) {
      for (std::int64_t line = 0; line < panel; line += w) store(to + k * panel + line, load<V>(from + k * inner_stride + line));
    }
    return;
  }
  for (std::int64_t k = 0; k < inner; ++k) {
    for (std::int64_t line = 0; line < lines; ++line) to[k * panel + line] = from[k * inner_stride + line * line_stride];
    for (std::int64_t line = lines; line < panel; ++line) to[k * panel + line] = T(0);
  }
}

template <class T>
void pack_a(const Matrix<const T>& a, std::int64_t count, std::int64_t inner, T* to) {
  for (std::int64_t i = 0; i < count; i += kRows, to += kRows * inner)
    pack_panel<T>(a.from(i, 0), count - i < kRows ? count - i : kRows, inner, to, kRows);
}

template <class T>
void pack_b(const Matrix<const T>& b, std::int64_t count, std::int64_t inner, T* to) {
  for (std::int64_t j = 0; j < count;) {
    const std::int64_t panel = panel_width(count - j, kWidth<T>);
    pack_panel<T>({b.at + j * b.column, b.column, b.row}, count - j < panel ? count - j : panel, inner, to, panel);
    to += panel * inner;
    j += panel;
  }
}

/// Divides x and y into pieces of 2 * Half elements and returns the lower half of each piece, or the upper half.
template <class V, std::int64_t Half, std::int64_t Upper, std::size_t... I>
inline __attribute__((always_inline)) V halves(V x, V y, std::index_sequence<I...>) {
  return __builtin_shufflevector(x, y, (static_cast<std::int64_t>(I) / Half * Half + Upper * Half + static_cast<std::int64_t>(I))...);
}

/// Horizontal sums of N vectors: each round adds halves, of two vectors at a time while there are several.
template <class T, int N, std::int64_t Half = kWidth<T> / 2>
inline __attribute__((always_inline)) void sum_each(Vector<T>* all, T* sums) {
  using V = Vector<T>;
  if constexpr (Half == 0) {
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) store(sums + i * kWidth<T>, all[i]);
  } else {
    using Indices = std::make_index_sequence<static_cast<std::size_t>(kWidth<T>)>;
    constexpr int kLeft = N > 1 ? N / 2 : 1;
#pragma GCC unroll 8
    for (int i = 0; i < kLeft; ++i) {
      const V x = all[N > 1 ? 2 * i : 0], y = all[N > 1 ? 2 * i + 1 : 0];
      all[i] = halves<V, Half, 0>(x, y, Indices()) + halves<V, Half, 1>(x, y, Indices());
    }
    sum_each<T, kLeft, Half / 2>(all, sums);
  }
}

template <class T, int R, int C>
inline __attribute__((always_inline)) void dot_tile(std::int64_t inner, const Matrix<const T>& left, const Matrix<const T>& right,
                                                    const Matrix<T>& result) {
  using V = Vector<T>;
  constexpr std::int64_t w = kWidth<T>;
  constexpr int kTurns = R * C >= 8 ? 1 : R * C >= 4 ? 2 : 4;  // independent sums: an addition has the latency of four iterations
  V sum[kTurns][R][C] = {};
  std::int64_t k = 0;
  const auto step = [&](V(&into)[R][C]) __attribute__((always_inline)) {
    V x[C];
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) x[c] = load<V>(right.at + c * right.row + k);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const V y = load<V>(left.at + r * left.row + k);
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) into[r][c] += x[c] * y;
    }
    k += w;
  };
  // NOLINTBEGIN(bugprone-infinite-loop): `step` goes on.
  while (k + kTurns * w <= inner) {
#pragma GCC unroll 4
    for (int turn = 0; turn < kTurns; ++turn) step(sum[turn]);
  }
  while (k + w <= inner) step(sum[0]);
  // NOLINTEND(bugprone-infinite-loop)
  for (int r = 0; r < R; ++r) {
    T sums[C > w ? C : w] = {};
    if (k > 0) {
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) {
#pragma GCC unroll 4
        for (int turn = 1; turn < kTurns; ++turn) sum[0][r][c] += sum[turn][r][c];
      }
      sum_each<T, C>(sum[0][r], sums);
    }
    for (std::int64_t i = k; i < inner; ++i) {
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) sums[c] += left.at[r * left.row + i] * right.at[c * right.row + i];
    }
    for (int c = 0; c < C; ++c) result.at[r * result.row + c * result.column] = sums[c];
  }
}

/// Takes eight or four lines of the larger operand at a time, with rows of the other that stay in the first-level cache.
template <class T, int R>
void dot_rows(std::int64_t columns, std::int64_t inner, const Matrix<const T>& left, const Matrix<const T>& right,
              const Matrix<T>& result) {
  constexpr int kLines = R == 1 ? 8 : 4;
  std::int64_t j = 0;
  for (; j + kLines <= columns; j += kLines) dot_tile<T, R, kLines>(inner, left, right.from(j, 0), result.from(0, j));
  for (; j < columns; ++j) dot_tile<T, R, 1>(inner, left, right.from(j, 0), result.from(0, j));
}

template <class T>
void dots(std::int64_t rows, std::int64_t columns, std::int64_t inner, const Matrix<const T>& left, const Matrix<const T>& right,
          const Matrix<T>& result) {
  constexpr int kMost = kRows > 4 ? 4 : 2;
  std::int64_t i = 0;
  for (; i + kMost <= rows; i += kMost) dot_rows<T, kMost>(columns, inner, left.from(i, 0), right, result.from(i, 0));
  for (; i + 2 <= rows; i += 2) dot_rows<T, 2>(columns, inner, left.from(i, 0), right, result.from(i, 0));
  for (; i < rows; ++i) dot_rows<T, 1>(columns, inner, left.from(i, 0), right, result.from(i, 0));
}

/// Computes R rows of the result from K lines times their factors, by vectors of `Bytes` and then narrower ones. With `add`, the sums are
/// added to the rows; without it, they replace them.
template <class T, int R, int K, int Bytes>
inline __attribute__((always_inline)) void combine_lines(std::int64_t j, std::int64_t columns, const Matrix<const T>& factors,
                                                         const Matrix<const T>& lines, const Matrix<T>& result, bool add) {
  using V = Vector<T, Bytes>;
  constexpr std::int64_t w = Bytes / static_cast<int>(sizeof(T));
  for (; j + w <= columns; j += w) {
    V sum[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sum[r] = add ? load<V>(result.at + r * result.row + j) : V{};
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k) {
      const V line = load<V>(lines.at + k * lines.row + j);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[r] += factors.at[r * factors.row + k * factors.column] * line;
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) store(result.at + r * result.row + j, sum[r]);
  }
  if constexpr (Bytes > 16) {
    combine_lines<T, R, K, Bytes / 2>(j, columns, factors, lines, result, add);
  } else {
    for (; j < columns; ++j) {
      for (int r = 0; r < R; ++r) {
        T sum = add ? result.at[r * result.row + j] : T(0);
        for (int k = 0; k < K; ++k) sum += factors.at[r * factors.row + k * factors.column] * lines.at[k * lines.row + j];
        result.at[r * result.row + j] = sum;
      }
    }
  }
}

template <class T, int R>
void combine_rows(std::int64_t columns, std::int64_t inner, const Matrix<const T>& factors, const Matrix<const T>& lines,
                  const Matrix<T>& result) {
  constexpr int kLines = 16, kFewer = 4;  // reading several lines at once raises memory throughput, up to about this number
  std::int64_t k = 0;
  for (; k + kLines <= inner; k += kLines)
    combine_lines<T, R, kLines, kBytes>(0, columns, factors.from(0, k), lines.from(k, 0), result, k > 0);
  for (; k + kFewer <= inner; k += kFewer)
    combine_lines<T, R, kFewer, kBytes>(0, columns, factors.from(0, k), lines.from(k, 0), result, k > 0);
  for (; k < inner; ++k) combine_lines<T, R, 1, kBytes>(0, columns, factors.from(0, k), lines.from(k, 0), result, k > 0);
}

/// C registers hold as many short lines of C elements as a register has elements; each line is multiplied by its factor.
template <class T, int C, int At = 0, std::size_t... I>
inline __attribute__((always_inline)) void take_short_lines(Vector<T> factors, const T* lines, Vector<T> (&sums)[C],
                                                            std::index_sequence<I...> all) {
  using V = Vector<T>;
  constexpr std::int64_t w = kWidth<T>;
  const V each = __builtin_shufflevector(factors, factors, (At * (w / C) + static_cast<std::int64_t>(I) / C)...);
  sums[At] += each * load<V>(lines + At * w);
  if constexpr (At + 1 < C) take_short_lines<T, C, At + 1>(factors, lines, sums, all);
}

/// Sums every C-th element; the C sums are in the lowest elements.
template <class T, int C, std::int64_t Half, std::size_t... I>
inline __attribute__((always_inline)) Vector<T> sum_columns(Vector<T> x, std::index_sequence<I...> all) {
  if constexpr (Half < C) {
    return x;
  } else {
    x += __builtin_shufflevector(x, x, ((static_cast<std::int64_t>(I) + Half) % kWidth<T>)...);
    return sum_columns<T, C, Half / 2>(x, all);
  }
}

/// Computes one row of C results from contiguous lines of C elements.
template <class T, int C>
void combine_short(std::int64_t inner, const T* factors, const T* lines, T* result) {
  using V = Vector<T>;
  constexpr std::int64_t w = kWidth<T>;
  using Indices = std::make_index_sequence<static_cast<std::size_t>(w)>;
  V sums[C] = {};
  std::int64_t k = 0;
  for (; k + w <= inner; k += w) take_short_lines<T, C>(load<V>(factors + k), lines + k * C, sums, Indices());
#pragma GCC unroll 4
  for (int c = 1; c < C; ++c) sums[0] += sums[c];
  T parts[w];
  store(parts, sum_columns<T, C, w / 2>(sums[0], Indices()));
  for (; k < inner; ++k) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) parts[c] += factors[k] * lines[k * C + c];
  }
  for (int c = 0; c < C; ++c) result[c] = parts[c];
}

/// Computes narrow results by specialized code; false if there is none for this shape.
template <class T>
bool combine_narrow(std::int64_t rows, std::int64_t columns, std::int64_t inner, const Matrix<const T>& factors,
                    const Matrix<const T>& lines, const Matrix<T>& result) {
  if (factors.column != 1 || lines.row != columns || (columns != 2 && columns != 4) || columns > kWidth<T>) return false;
  for (std::int64_t i = 0; i < rows; ++i) {
    const T *by = factors.at + i * factors.row, *from = lines.at;
    T* to = result.at + i * result.row;
    if (columns == 2) {
      combine_short<T, 2>(inner, by, from, to);
    } else if constexpr (kWidth<T> >= 4) {
      combine_short<T, 4>(inner, by, from, to);
    }
  }
  return true;
}

template <class T>
void combine(std::int64_t rows, std::int64_t columns, std::int64_t inner, const Matrix<const T>& factors, const Matrix<const T>& lines,
             const Matrix<T>& result) {
  if (combine_narrow(rows, columns, inner, factors, lines, result)) return;
  std::int64_t i = 0;
  for (; i + 4 <= rows; i += 4) combine_rows<T, 4>(columns, inner, factors.from(i, 0), lines, result.from(i, 0));
  for (; i + 2 <= rows; i += 2) combine_rows<T, 2>(columns, inner, factors.from(i, 0), lines, result.from(i, 0));
  for (; i < rows; ++i) combine_rows<T, 1>(columns, inner, factors.from(i, 0), lines, result.from(i, 0));
}

/// Adds a bias to a row of results: one number for each element, or the same for all; then applies relu.
template <class T>
void finish_row(std::int64_t count, T* row, const T* bias, std::int64_t bias_step, bool relu) {
  using V = Vector<T>;
  constexpr std::int64_t w = kWidth<T>;
  std::int64_t j = 0;
  for (; j + w <= count; j += w) {
    V value = load<V>(row + j);
    if (bias) value += bias_step == 0 ? V{} + *bias : load<V>(bias + j);
    if (relu) value = value < V{} ? V{} : value;
    store(row + j, value);
  }
  for (; j < count; ++j) {
    if (bias) row[j] += bias[j * bias_step];
    if (relu) row[j] = row[j] < T(0) ? T(0) : row[j];
  }
}

template <class T>
void finish(std::int64_t rows, std::int64_t columns, const Matrix<T>& c, const Finish<T>& finish) {
  if (columns == 1 && c.row == 1) return finish_row(rows, c.at, finish.bias, 0, finish.relu);
  for (std::int64_t i = 0; i < rows; ++i) finish_row(columns, c.at + i * c.row, finish.bias, 1, finish.relu);
}

template <class T>
constexpr ProductCode<T> kCode = {kRows, kWidth<T>, block<T>, pack_a<T>, pack_b<T>, dots<T>, combine<T>, finish<T>};

}  // namespace

const ProductCode<float>& code_f32() {
  return kCode<float>;
}
const ProductCode<double>& code_f64() {
  return kCode<double>;
}
const ProductCode<std::uint32_t>& code_u32() {
  return kCode<std::uint32_t>;
}
const ProductCode<std::uint64_t>& code_u64() {
  return kCode<std::uint64_t>;
}

}  // namespace cleave::runtime::host::CLEAVE_CODE_NAME
// NOLINTEND(misc-definitions-in-headers)
