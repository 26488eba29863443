#include "executor/host/fourier_lines.h"

#include <algorithm>
#include <utility>

#include "executor/host/several_sets.h"

namespace cleave::runtime::host {
namespace {

template <class T, int bytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(bytes)));
};
template <class T, int bytes>
using Vector = typename VectorOf<T, bytes>::type;
template <class T, int bytes>
constexpr std::int64_t kWidth = bytes / static_cast<int>(sizeof(T));

/// Interleaves two vectors: their lower halves (base 0) or their upper halves.
template <std::int64_t base, class V, std::size_t... i>
[[gnu::always_inline]] inline void interleave(const V& x, const V& y, V& to, std::index_sequence<i...>) {
  constexpr std::int64_t w = sizeof...(i);
  to = __builtin_shufflevector(x, y, (base + static_cast<std::int64_t>(i) / 2 + (i % 2 == 0 ? 0 : w))...);
}

/// Transposes a square block of registers by log2(rows) rounds of interleaving, like a perfect shuffle.
template <class T, int bytes>
[[gnu::always_inline]] inline void transpose(Vector<T, bytes> (&square)[static_cast<std::size_t>(kWidth<T, bytes>)]) {
  constexpr int w = static_cast<int>(kWidth<T, bytes>);
  using Indices = std::make_index_sequence<static_cast<std::size_t>(w)>;
#pragma GCC unroll 4
  for (int round = 1; round < w; round *= 2) {
    Vector<T, bytes> dealt[w];
#pragma GCC unroll 16
    for (int i = 0; i < w / 2; ++i) {
      interleave<0>(square[i], square[i + w / 2], dealt[2 * i], Indices());
      interleave<w / 2>(square[i], square[i + w / 2], dealt[2 * i + 1], Indices());
    }
#pragma GCC unroll 16
    for (int i = 0; i < w; ++i) square[i] = dealt[i];
  }
}

/// Splits lines from `line` on, one square block at a time; returns the first line that is left.
template <class T, int bytes>
[[gnu::always_inline]] inline std::int64_t apart(const LinesInMemory<const T>& from, std::int64_t line, std::int64_t lines,
                                                 SplitLines<T> to) {
  constexpr std::int64_t w = kWidth<T, bytes>;
  for (; line + w <= lines; line += w) {
    const T* x = from.first + line * from.stride;
    std::int64_t i = 0;
    for (; i + w <= from.numbers; i += w) {
      Vector<T, bytes> square[w];
#pragma GCC unroll 16
      for (int l = 0; l < w; ++l) __builtin_memcpy(&square[l], x + l * from.stride + i, bytes);
      transpose<T, bytes>(square);
#pragma GCC unroll 16
      for (int k = 0; k < w; ++k) __builtin_memcpy((k % 2 == 0 ? to.re : to.im) + (i + k) / 2 * lines + line, &square[k], bytes);
    }
    for (; i < from.numbers; ++i)
      for (std::int64_t l = 0; l < w; ++l) (i % 2 == 0 ? to.re : to.im)[i / 2 * lines + line + l] = x[l * from.stride + i];
  }
  return line;
}

template <class T, int bytes>
[[gnu::always_inline]] inline void take_apart(const LinesInMemory<const T>& from, std::int64_t lines, SplitLines<T> to) {
  std::int64_t line = apart<T, bytes>(from, 0, lines, to);
  if constexpr (bytes > 16) line = apart<T, 16>(from, line, lines, to);
  for (; line < lines; ++line) {
    const T* x = from.first + line * from.stride;
    for (std::int64_t j = 0; j < (from.numbers + 1) / 2; ++j) to.re[j * lines + line] = x[2 * j];
    for (std::int64_t j = 0; j < from.numbers / 2; ++j) to.im[j * lines + line] = x[2 * j + 1];
  }
}

template <class T, int bytes>
[[gnu::always_inline]] inline std::int64_t together(SplitLines<T> from, std::int64_t line, std::int64_t lines, T scale,
                                                    const LinesInMemory<T>& to) {
  constexpr std::int64_t w = kWidth<T, bytes>;
  for (; line + w <= lines; line += w) {
    T* y = to.first + line * to.stride;
    std::int64_t i = 0;
    for (; i + w <= to.numbers; i += w) {
      Vector<T, bytes> square[w];
#pragma GCC unroll 16
      for (int k = 0; k < w; ++k) {
        __builtin_memcpy(&square[k], (k % 2 == 0 ? from.re : from.im) + (i + k) / 2 * lines + line, bytes);
        square[k] *= scale;
      }
      transpose<T, bytes>(square);
#pragma GCC unroll 16
      for (int l = 0; l < w; ++l) __builtin_memcpy(y + l * to.stride + i, &square[l], bytes);
    }
    for (; i < to.numbers; ++i)
      for (std::int64_t l = 0; l < w; ++l) y[l * to.stride + i] = (i % 2 == 0 ? from.re : from.im)[i / 2 * lines + line + l] * scale;
  }
  return line;
}

template <class T, int bytes>
[[gnu::always_inline]] inline void put_together(SplitLines<T> from, std::int64_t lines, T scale, const LinesInMemory<T>& to) {
  std::int64_t line = together<T, bytes>(from, 0, lines, scale, to);
  if constexpr (bytes > 16) line = together<T, 16>(from, line, lines, scale, to);
  for (; line < lines; ++line) {
    T* y = to.first + line * to.stride;
    for (std::int64_t j = 0; j < (to.numbers + 1) / 2; ++j) y[2 * j] = from.re[j * lines + line] * scale;
    for (std::int64_t j = 0; j < to.numbers / 2; ++j) y[2 * j + 1] = from.im[j * lines + line] * scale;
  }
}

template <class T>
[[gnu::always_inline]] inline void split(SplitLines<T> z, std::int64_t w, std::int64_t h, const T* cosines, const T* sines) {
  std::copy_n(z.re, w, z.re + h * w);
  std::copy_n(z.im, w, z.im + h * w);
  for (std::int64_t k = 0; k <= h / 2; ++k) {
    const T c = cosines[k], s = sines[k];
    T *ar = z.re + k * w, *ai = z.im + k * w, *br = z.re + (h - k) * w, *bi = z.im + (h - k) * w;
    CLEAVE_INDEPENDENT
    for (std::int64_t l = 0; l < w; ++l) {
      const T er = (ar[l] + br[l]) / 2, ei = (ai[l] - bi[l]) / 2, our = (ai[l] + bi[l]) / 2, oui = (br[l] - ar[l]) / 2;
      const T tr = our * c + oui * s, ti = oui * c - our * s;  // w O
      ar[l] = er + tr;
      ai[l] = ei + ti;
      br[l] = er - tr;
      bi[l] = ti - ei;
    }
  }
}

template <class T>
[[gnu::always_inline]] inline void join(SplitLines<T> x, std::int64_t w, std::int64_t h, const T* cosines, const T* sines) {
  std::fill_n(x.im, w, T(0));
  std::fill_n(x.im + h * w, w, T(0));
  for (std::int64_t k = 0; k <= h / 2; ++k) {
    const T c = cosines[k], s = sines[k];
    T *ar = x.re + k * w, *ai = x.im + k * w, *br = x.re + (h - k) * w, *bi = x.im + (h - k) * w;
    CLEAVE_INDEPENDENT
    for (std::int64_t l = 0; l < w; ++l) {
      const T er = ar[l] + br[l], ei = ai[l] - bi[l], dr = ar[l] - br[l], di = ai[l] + bi[l];
      const T tr = dr * c - di * s, ti = dr * s + di * c;  // conj(w) times the difference
      ar[l] = er - ti;
      ai[l] = ei + tr;
      br[l] = er + ti;
      bi[l] = tr - ei;
    }
  }
}

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define CLEAVE_LINE_LOOPS(name, attribute, bytes)                                                                            \
  template <class T>                                                                                                         \
  struct name {                                                                                                              \
    attribute static void apart(const LinesInMemory<const T>& from, std::int64_t lines, SplitLines<T> to) {                  \
      take_apart<T, bytes>(from, lines, to);                                                                                 \
    }                                                                                                                        \
    attribute static void together(SplitLines<T> from, std::int64_t lines, T scale, const LinesInMemory<T>& to) {            \
      put_together<T, bytes>(from, lines, scale, to);                                                                        \
    }                                                                                                                        \
    attribute static void splits(SplitLines<T> z, std::int64_t lines, std::int64_t half, const T* cosines, const T* sines) { \
      split<T>(z, lines, half, cosines, sines);                                                                              \
    }                                                                                                                        \
    attribute static void joins(SplitLines<T> x, std::int64_t lines, std::int64_t half, const T* cosines, const T* sines) {  \
      join<T>(x, lines, half, cosines, sines);                                                                               \
    }                                                                                                                        \
    static constexpr LineLoops<T> loops = {apart, together, splits, joins};                                                  \
  };
// NOLINTEND(cppcoreguidelines-macro-usage)
CLEAVE_LINE_LOOPS(Anywhere, , 16)
#if CLEAVE_SEVERAL_SETS
CLEAVE_LINE_LOOPS(WithAvx2, CLEAVE_WITH_AVX2, 32)
CLEAVE_LINE_LOOPS(WithAvx512, CLEAVE_WITH_AVX512, 64)
#endif

}  // namespace

template <class T>
const LineLoops<T>& line_loops([[maybe_unused]] Instructions set) {
#if CLEAVE_SEVERAL_SETS
  if (set >= Instructions::avx512) return WithAvx512<T>::loops;
  if (set >= Instructions::avx2) return WithAvx2<T>::loops;
#endif
  return Anywhere<T>::loops;
}

template const LineLoops<float>& line_loops<float>(Instructions);
template const LineLoops<double>& line_loops<double>(Instructions);

}  // namespace cleave::runtime::host
