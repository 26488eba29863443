// The loops behind QuantizedCode, written with vectors of CLEAVE_CODE_BYTES and compiled once for each instruction set: each code_*.cpp
// defines the sizes and a namespace CLEAVE_CODE_NAME, and includes this. It must include nothing with inline functions of its own (those of
// the compiler's intrinsics are always inlined): the linker would keep one copy for all sets.

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <utility>

#include "executor/host/quantized/code.h"

// NOLINTBEGIN(misc-definitions-in-headers): in another namespace in each file.
namespace cleave::runtime::host::CLEAVE_CODE_NAME {
namespace {

constexpr int kBytes = CLEAVE_CODE_BYTES;
constexpr int kRows = CLEAVE_CODE_ROWS, kRegisters = CLEAVE_CODE_REGISTERS;
constexpr int kWidth = kBytes / 4;  ///< i32 elements of a register
constexpr int kTogether = 16;       ///< columns that are packed at a time

typedef std::int32_t Sums __attribute__((vector_size(kBytes)));
typedef std::int16_t Pairs __attribute__((vector_size(kBytes)));
typedef float Floats __attribute__((vector_size(kBytes)));
typedef std::uint8_t Bytes16 __attribute__((vector_size(16)));
#if CLEAVE_CODE_BYTES > 16
typedef std::int16_t Words16 __attribute__((vector_size(32)));
#else
typedef std::int16_t Words8 __attribute__((vector_size(16)));
#endif

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

/// Adds the sums of two products of neighbors to each element of `sums`.
inline __attribute__((always_inline)) Sums add_products(Sums sums, Pairs x, Pairs y) {
#if defined(CLEAVE_CODE_VNNI)
  return reinterpret_cast<Sums>(
      _mm512_dpwssd_epi32(reinterpret_cast<__m512i>(sums), reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(y)));
#elif CLEAVE_CODE_BYTES == 64
  return sums + reinterpret_cast<Sums>(_mm512_madd_epi16(reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(y)));
#elif CLEAVE_CODE_BYTES == 32
  return sums + reinterpret_cast<Sums>(_mm256_madd_epi16(reinterpret_cast<__m256i>(x), reinterpret_cast<__m256i>(y)));
#elif defined(__SSE2__)
  return sums + reinterpret_cast<Sums>(_mm_madd_epi16(reinterpret_cast<__m128i>(x), reinterpret_cast<__m128i>(y)));
#else
  for (int i = 0; i < kWidth; ++i) sums[i] += x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1];
  return sums;
#endif
}

/// Two neighbors in every place of a register.
inline __attribute__((always_inline)) Pairs broadcast_pair(const std::int16_t* from) {
  std::int32_t both;
  __builtin_memcpy(&both, from, sizeof both);
  return reinterpret_cast<Pairs>(Sums{} + both);
}

// --- products ----------------------------------------------------------------------------------------------------------------------------

template <int R, int N>
inline __attribute__((always_inline)) void tile(const QuantizedBlock& call, const std::int16_t* a, const std::int16_t* b, std::int32_t* c) {
  Sums sums[R][N] = {};
  const std::int64_t pairs = call.pairs, a_row = call.a_row;
  for (std::int64_t k = 0; k < pairs; ++k) {
    Pairs right[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) right[n] = load<Pairs>(b + n * 2 * kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Pairs left = broadcast_pair(a + r * a_row);
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) sums[r][n] = add_products(sums[r][n], left, right[n]);
    }
    a += 2;
    b += N * 2 * kWidth;
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) {
      std::int32_t* to = c + r * call.c_row + n * kWidth;
      store(to, call.add ? load<Sums>(to) + sums[r][n] : sums[r][n]);
    }
  }
}

template <int N>
__attribute__((noinline)) void column_of_tiles(const QuantizedBlock& call, const std::int16_t* b, std::int32_t* c) {
  const std::int16_t* a = call.a + 2 * call.first;
  std::int64_t i = 0;
  for (; i + kRows <= call.rows; i += kRows, a += kRows * call.a_row, c += kRows * call.c_row) tile<kRows, N>(call, a, b, c);
  switch (call.rows - i) {
    case 1: return tile<1, N>(call, a, b, c);
    case 2: return tile<2, N>(call, a, b, c);
    case 3: return tile<3, N>(call, a, b, c);
    case 4: return tile<(kRows > 4 ? 4 : 1), N>(call, a, b, c);
    case 5: return tile<(kRows > 4 ? 5 : 1), N>(call, a, b, c);
    case 6: return tile<(kRows > 6 ? 6 : 1), N>(call, a, b, c);
    case 7: return tile<(kRows > 6 ? 7 : 1), N>(call, a, b, c);
    default: return;
  }
}

void block(const QuantizedBlock& call) {
  const std::int16_t* b = call.b;
  for (std::int64_t j = 0; j < call.columns;) {
    const std::int64_t panel = quantized_panel(call.columns - j, kWidth, kRegisters);
    switch (panel / kWidth) {
      case 1: column_of_tiles<1>(call, b + 2 * call.first * panel, call.c + j); break;
      case 2: column_of_tiles<2>(call, b + 2 * call.first * panel, call.c + j); break;
      default: column_of_tiles<kRegisters>(call, b + 2 * call.first * panel, call.c + j); break;
    }
    b += 2 * call.panel_pairs * panel;
    j += panel;
  }
}

// --- packing -----------------------------------------------------------------------------------------------------------------------------

template <int Base, std::size_t... I>
inline __attribute__((always_inline)) Bytes16 interleaved(Bytes16 x, Bytes16 y, std::index_sequence<I...>) {
  return __builtin_shufflevector(x, y, (Base + static_cast<int>(I) / 2 + (I % 2 == 0 ? 0 : 16))...);
}

/// Stores 16 bytes minus zero points, as 16 words.
inline __attribute__((always_inline)) void store_words(Bytes16 x, const std::int16_t* zeros, std::int16_t* to) {
#if CLEAVE_CODE_BYTES > 16
  store(to, __builtin_convertvector(x, Words16) - load<Words16>(zeros));
#else
  const Words8 lower = reinterpret_cast<Words8>(interleaved<0>(x, Bytes16{}, std::make_index_sequence<16>()));
  const Words8 upper = reinterpret_cast<Words8>(interleaved<8>(x, Bytes16{}, std::make_index_sequence<16>()));
  store(to, lower - load<Words8>(zeros));
  store(to + 8, upper - load<Words8>(zeros + 8));
#endif
}

/// Packs 16 columns of two lines.
inline __attribute__((always_inline)) void pack_pair(Bytes16 x, Bytes16 y, const std::int16_t* zeros, std::int16_t* to) {
  using Indices = std::make_index_sequence<16>;
  store_words(interleaved<0>(x, y, Indices()), zeros, to);
  store_words(interleaved<8>(x, y, Indices()), zeros + 16, to + 16);
}

/// Loads up to 16 bytes, and none after them if `exact`.
inline __attribute__((always_inline)) Bytes16 load_bytes(const std::uint8_t* from, std::int64_t count, bool exact) {
  if (!exact || count >= kTogether) return load<Bytes16>(from);
  std::uint8_t bytes[kTogether] = {};
  for (std::int64_t i = 0; i < count; ++i) bytes[i] = from[i];
  return load<Bytes16>(bytes);
}

void pack(const BytePanelCall call) {  // a copy, with which stores cannot interfere
  std::int16_t* to = call.to;
  for (std::int64_t line = 0; line < call.lines; line += 2, to += 2 * call.width) {
    const bool alone = line + 1 == call.lines;
    const std::uint8_t *first = call.from + call.offsets[line], *second = call.from + call.offsets[alone ? line : line + 1];
    for (std::int64_t i = 0; i < call.run_count; ++i) {
      const ByteRun run = call.runs[i];
      for (std::int64_t j = 0; j < run.count; j += kTogether) {
        const std::int64_t left = run.count - j;
        const Bytes16 x = load_bytes(first + run.from + j, left, call.exact) ^ call.flip;
        const Bytes16 y = load_bytes(second + run.from + j, left, call.exact) ^ call.flip;
        pack_pair(x, y, call.zeros + 2 * (run.to + j), to + 2 * (run.to + j));
      }
    }
    for (std::int64_t column = 0; alone && column < call.width; ++column) to[2 * column + 1] = 0;
  }
}

void pack_lines(const BytePanelCall& call) {
  pack(call);
}

// --- planes ------------------------------------------------------------------------------------------------------------------------------

/// Every second one of 32 bytes.
inline __attribute__((always_inline)) Bytes16 every_second(const std::uint8_t* from) {
  const auto first = load<Bytes16>(from), second = load<Bytes16>(from + 16);
  return __builtin_shufflevector(first, second, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}

/// Stores up to 16 elements of a line, and nothing from `end` on.
template <class T>
inline __attribute__((always_inline)) void store_line(const ByteLinesCall& call, Bytes16 x, const std::int16_t* zeros, T* to,
                                                      const T* end) {
  T room[16];
  T* const at = to + 16 <= end ? to : room;
  if constexpr (sizeof(T) == 1) {
    store(at, x);
  } else {
    store_words(x ^ call.flip, zeros, at);
  }
  if (at == to) return;
  for (std::int64_t i = 0; to + i < end; ++i) to[i] = room[i];
}

/// Each line is written in whole registers, and what is written after its end is overwritten by its padding and by the next line.
template <class T>
inline __attribute__((always_inline)) void fill_lines(const ByteLinesCall& call, T* to, T padding) {
  std::int16_t zeros[16];
  for (std::int16_t& each : zeros) each = call.zero;
  const std::uint8_t* from = call.from;
  const T* const end = to + call.rows * call.length;
  for (std::int64_t row = 0; row < call.rows; ++row, to += call.length) {
    if (row < call.first_row || row >= call.end_row) {
      for (std::int64_t i = 0; i < call.length; ++i) to[i] = padding;
      continue;
    }
    for (std::int64_t i = 0; i < call.first; ++i) to[i] = padding;
    const std::int64_t left = call.readable - (from - call.from);
    for (std::int64_t i = call.first; i < call.end; i += 16) {
      const std::int64_t at = (i - call.first) * call.stride;
      if (call.stride == 1 && at + 16 <= left) {
        store_line(call, load<Bytes16>(from + at), zeros, to + i, end);
      } else if (call.stride == 2 && at + 32 <= left) {
        store_line(call, every_second(from + at), zeros, to + i, end);
      } else {
        std::uint8_t bytes[16] = {};
        for (std::int64_t j = 0; j < 16 && i + j < call.end; ++j) bytes[j] = from[at + j * call.stride];
        store_line(call, load<Bytes16>(bytes), zeros, to + i, end);
      }
    }
    for (std::int64_t i = call.end; i < call.length; ++i) to[i] = padding;
    from += call.from_row;
  }
}

void lines(const ByteLinesCall& call) {
  if (call.words) return fill_lines<std::int16_t>(call, call.words, 0);
  fill_lines<std::uint8_t>(call, call.bytes, call.outside);
}

void widen(std::int64_t count, const std::uint8_t* from, std::uint8_t flip, std::int16_t zero, std::int16_t* to) {
  std::int64_t i = 0;
  std::int16_t zeros[16];
  for (std::int16_t& each : zeros) each = zero;
  for (; i + 16 <= count; i += 16) store_words(load<Bytes16>(from + i) ^ flip, zeros, to + i);
  for (; i < count; ++i) to[i] = static_cast<std::int16_t>((from[i] ^ flip) - zero);
}

// --- results -----------------------------------------------------------------------------------------------------------------------------

/// The sums of one register, with a bias.
inline __attribute__((always_inline)) Sums biased(const RescaleCall& call, std::int64_t i) {
  Sums sums = load<Sums>(call.from + i);
  if (!call.bias) return sums;
  return sums + (call.bias_step == 0 ? Sums{} + *call.bias : load<Sums>(call.bias + i));
}
inline __attribute__((always_inline)) Floats scaled(const RescaleCall& call, std::int64_t i) {
  const Floats factor = call.factor_step == 0 ? Floats{} + *call.factor : load<Floats>(call.factor + i);
  return __builtin_convertvector(biased(call, i), Floats) * factor;
}

/// The nearest integers, halves to even.
inline __attribute__((always_inline)) Sums nearest(Floats x) {
#if CLEAVE_CODE_BYTES == 64
  return reinterpret_cast<Sums>(_mm512_cvtps_epi32(reinterpret_cast<__m512>(x)));
#elif CLEAVE_CODE_BYTES == 32
  return reinterpret_cast<Sums>(_mm256_cvtps_epi32(reinterpret_cast<__m256>(x)));
#elif defined(__SSE2__)
  return reinterpret_cast<Sums>(_mm_cvtps_epi32(reinterpret_cast<__m128>(x)));
#else
  constexpr float kMagic = 0x1.8p23F;  // adding it leaves no room for a fraction
  return __builtin_convertvector((x + kMagic) - kMagic, Sums);
#endif
}

/// Four registers of steps, held to the ends of T, as bytes in order.
template <class T>
inline __attribute__((always_inline)) void store_bytes(T* to, const Sums (&steps)[4]) {
#if CLEAVE_CODE_BYTES == 32
  const __m256i lower = _mm256_packs_epi32(reinterpret_cast<__m256i>(steps[0]), reinterpret_cast<__m256i>(steps[1]));
  const __m256i upper = _mm256_packs_epi32(reinterpret_cast<__m256i>(steps[2]), reinterpret_cast<__m256i>(steps[3]));
  const __m256i bytes = static_cast<T>(-1) < 0 ? _mm256_packs_epi16(lower, upper) : _mm256_packus_epi16(lower, upper);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(bytes, order));
#elif CLEAVE_CODE_BYTES == 16 && defined(__SSE2__)
  const __m128i lower = _mm_packs_epi32(reinterpret_cast<__m128i>(steps[0]), reinterpret_cast<__m128i>(steps[1]));
  const __m128i upper = _mm_packs_epi32(reinterpret_cast<__m128i>(steps[2]), reinterpret_cast<__m128i>(steps[3]));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), static_cast<T>(-1) < 0 ? _mm_packs_epi16(lower, upper) : _mm_packus_epi16(lower, upper));
#else
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
#if CLEAVE_CODE_BYTES == 64
    const auto some = reinterpret_cast<__m512i>(steps[r]);
    const __m128i bytes =
        static_cast<T>(-1) < 0 ? _mm512_cvtsepi32_epi8(some) : _mm512_cvtusepi32_epi8(_mm512_max_epi32(some, _mm512_setzero_si512()));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + r * kWidth), bytes);
#else
    for (int i = 0; i < kWidth; ++i) {
      constexpr int kLeast = static_cast<T>(-1) < 0 ? -128 : 0, kMost = kLeast + 255;
      to[r * kWidth + i] = static_cast<T>(steps[r][i] < kLeast ? kLeast : steps[r][i] > kMost ? kMost : steps[r][i]);
    }
#endif
  }
#endif
}

/// Factors are finite, so that no product is NaN; `some`: NaN, which gives 0, is possible.
template <class T, bool some>
void rescale_to_bytes(const RescaleCall call) {  // a copy, with which stores cannot interfere
  constexpr float kFar = 1 << 20;                // further steps are past every end
  T* to = static_cast<T*>(call.to);
  const auto steps = [&](std::int64_t i) __attribute__((always_inline)) {
    Floats x = scaled(call, i);
    const Sums number = x == x;
    x = x < -kFar ? Floats{} - kFar : x;
    x = x > kFar ? Floats{} + kFar : x;
    const Sums whole = nearest(x) + call.zero;
    return some ? whole & number : whole;
  };
  constexpr std::int64_t kFour = 4 * kWidth;
  std::int64_t i = 0;
  for (; i + kFour <= call.count; i += kFour) {
    const Sums four[4] = {steps(i), steps(i + kWidth), steps(i + 2 * kWidth), steps(i + 3 * kWidth)};
    store_bytes(to + i, four);
  }
  if (i == call.count) return;
  Sums rest[4] = {};
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r)
    if (i + r * kWidth < call.count) rest[r] = steps(i + r * kWidth);
  T last[kFour];
  store_bytes(last, rest);
  for (std::int64_t j = 0; i + j < call.count; ++j) to[i + j] = last[j];
}

/// Stores the elements of a register before the end.
template <class V, class T>
inline __attribute__((always_inline)) void store_some(T* to, const V& values, std::int64_t count) {
  if (count >= kWidth) return store(to, values);
  for (std::int64_t j = 0; j < count; ++j) to[j] = values[j];
}

void rescale(const RescaleCall& call) {
  switch (call.form) {
    case RescaleCall::To::i32:
      for (std::int64_t i = 0; i < call.count; i += kWidth)
        store_some(static_cast<std::int32_t*>(call.to) + i, biased(call, i), call.count - i);
      return;
    case RescaleCall::To::f32:
      for (std::int64_t i = 0; i < call.count; i += kWidth) store_some(static_cast<float*>(call.to) + i, scaled(call, i), call.count - i);
      return;
    case RescaleCall::To::i8: return call.finite ? rescale_to_bytes<std::int8_t, false>(call) : rescale_to_bytes<std::int8_t, true>(call);
    case RescaleCall::To::u8: return call.finite ? rescale_to_bytes<std::uint8_t, false>(call) : rescale_to_bytes<std::uint8_t, true>(call);
  }
}

// --- sums of shifted lines ---------------------------------------------------------------------------------------------------------------

/// Interleaves the elements of two registers in each 16 bytes: the lower four of each, or the upper four.
template <int Upper, std::size_t... I>
inline __attribute__((always_inline)) Pairs interleaved_lanes(Pairs x, Pairs y, std::index_sequence<I...>) {
  return __builtin_shufflevector(
      x, y, (static_cast<int>(I) / 8 * 8 + Upper * 4 + static_cast<int>(I) % 8 / 2 + (I % 2 == 0 ? 0 : 2 * kWidth))...);
}
/// The inverse for sums: elements of the lower and upper halves in order; `Second` for the second register.
template <int Second, std::size_t... I>
inline __attribute__((always_inline)) Sums in_order(Sums lower, Sums upper, std::index_sequence<I...>) {
  return __builtin_shufflevector(lower, upper,
                                 ((Second * kWidth + static_cast<int>(I)) / 8 * 4 + static_cast<int>(I) % 4 +
                                  ((Second * kWidth + static_cast<int>(I)) % 8 / 4) * kWidth)...);
}

void slide(const ShiftedLinesCall& call) {
  constexpr int kStrips = 2;
  using Words = std::make_index_sequence<static_cast<std::size_t>(2 * kWidth)>;
  using Elements = std::make_index_sequence<static_cast<std::size_t>(kWidth)>;
  for (std::int64_t i = 0; i < call.count; i += kStrips * 2 * kWidth) {
    Sums lower[kStrips] = {}, upper[kStrips] = {};
    for (std::int64_t tap = 0; tap < call.taps; tap += 2) {
      const Pairs weights = broadcast_pair(call.weights + tap);
      const std::int16_t *first = call.from + call.offsets[tap] + i, *second = call.from + call.offsets[tap + 1] + i;
#pragma GCC unroll 2
      for (int s = 0; s < kStrips; ++s) {
        const Pairs x = load<Pairs>(first + s * 2 * kWidth), y = load<Pairs>(second + s * 2 * kWidth);
        lower[s] = add_products(lower[s], interleaved_lanes<0>(x, y, Words()), weights);
        upper[s] = add_products(upper[s], interleaved_lanes<1>(x, y, Words()), weights);
      }
    }
#pragma GCC unroll 2
    for (int s = 0; s < kStrips; ++s) {
      store(call.to + i + s * 2 * kWidth, in_order<0>(lower[s], upper[s], Elements()));
      store(call.to + i + s * 2 * kWidth + kWidth, in_order<1>(lower[s], upper[s], Elements()));
    }
  }
}

constexpr QuantizedCode kCode = {kRows, kWidth, kRegisters, pack_lines, lines, block, widen, rescale, slide};

}  // namespace

const QuantizedCode& quantized() {
  return kCode;
}

}  // namespace cleave::runtime::host::CLEAVE_CODE_NAME
// NOLINTEND(misc-definitions-in-headers)
