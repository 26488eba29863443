// random_uniform, random_normal and random_integers: bit for bit the numbers of graph/ops/random_bits.h, made many at a time. The loops
// over short arrays are vectorised by the compiler for several instruction sets; all round alike (-ffp-contract=off).
#include <algorithm>
#include <array>
#include <bit>

#include "executor/host/instructions.h"
#include "executor/host/kernels.h"
#include "graph/ops/random_bits.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define CLEAVE_SEVERAL_SETS 1
#endif

namespace cleave::runtime::host {
namespace {

/// Numbers that are made together, and numbers of one piece of the work.
constexpr std::int64_t kGroup = 256, kPiece = 1 << 15;
constexpr double kTail = 0.02425;  ///< probability below which `inverse_normal` uses its tail formula

/// The parameters of a call: its position in the generator's sequences, and the parameters of the distribution.
struct Draw {
  unsigned long long seed = 0, step = 0;
  double first = 0, second = 1;  ///< low and high, or mean and deviation
};

using Words = std::array<std::uint32_t, 2 * kGroup>;

/// Computes the words of `blocks` Philox blocks, from `block` on.
[[gnu::always_inline]] inline void draw_words(const Draw& draw, unsigned long long block, std::int64_t blocks, Words& words) {
  constexpr std::int64_t kBlocks = kGroup / 2;
  std::array<std::uint32_t, kBlocks> by_word[4];
  for (std::int64_t i = 0; i < blocks; ++i) {
    const auto index = block + static_cast<unsigned long long>(i);
    std::uint32_t w0 = static_cast<std::uint32_t>(index), w1 = static_cast<std::uint32_t>(index >> 32);
    std::uint32_t w2 = static_cast<std::uint32_t>(draw.step), w3 = static_cast<std::uint32_t>(draw.step >> 32);
    auto key0 = static_cast<std::uint32_t>(draw.seed), key1 = static_cast<std::uint32_t>(draw.seed >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {  // the rounds of Philox, without its array
      const std::uint64_t product0 = 0xD2511F53ULL * w0, product1 = 0xCD9E8D57ULL * w2;
      w0 = static_cast<std::uint32_t>(product1 >> 32) ^ w1 ^ key0;
      w2 = static_cast<std::uint32_t>(product0 >> 32) ^ w3 ^ key1;
      w1 = static_cast<std::uint32_t>(product1);
      w3 = static_cast<std::uint32_t>(product0);
      key0 += 0x9E3779B9U;
      key1 += 0xBB67AE85U;
    }
    by_word[0][i] = w0;
    by_word[1][i] = w1;
    by_word[2][i] = w2;
    by_word[3][i] = w3;
  }
  for (std::int64_t i = 0; i < blocks; ++i) {
    for (std::int64_t word = 0; word < 4; ++word) words[4 * i + word] = by_word[word][i];
  }
}

template <class Float>
struct Uniform {
  static constexpr std::int64_t kABlock = std::is_same_v<Float, float> ? 4 : 2;

  [[gnu::always_inline]] static void group(const Draw& draw, const Words& words, Float* out, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      double unit = 0;
      if constexpr (kABlock == 4) {
        unit = static_cast<std::int32_t>(words[i] >> 8) * 0x1p-24;
      } else {  // 27 and 26 bits
        unit = (static_cast<std::int32_t>(words[2 * i] >> 5) * 0x1p26 + static_cast<std::int32_t>(words[2 * i + 1] >> 6)) * 0x1p-53;
      }
      out[i] = random_bits::stretch<Float>(unit, draw.first, draw.second);
    }
  }
};

template <class Float>
struct Normal {
  static constexpr std::int64_t kABlock = 4;

  [[gnu::always_inline]] static void group(const Draw& draw, const Words& words, Float* out, std::int64_t count) {
    std::array<double, kGroup> z;
    std::array<std::int32_t, kGroup> tails;
    for (std::int64_t i = 0; i < count; ++i) z[i] = middle(unit(words[i]));
    std::int64_t in_tails = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const double p = unit(words[i]);
      tails[in_tails] = static_cast<std::int32_t>(i);
      in_tails += static_cast<std::int64_t>(!(p >= kTail && p <= 1 - kTail));
    }
    std::array<double, kGroup> p;
    for (std::int64_t i = 0; i < in_tails; ++i) p[i] = unit(words[tails[i]]);
    for (std::int64_t i = 0; i < in_tails; ++i) p[i] = tail(p[i]);
    for (std::int64_t i = 0; i < in_tails; ++i) z[tails[i]] = p[i];
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<Float>(random_bits::scaled(z[i], draw.first, draw.second));
  }

 private:
  /// (bits + 0.5) / 2^32, by way of signed integers, whose conversion all instruction sets have.
  [[gnu::always_inline]] static double unit(std::uint32_t bits) {
    return (static_cast<std::int32_t>(bits ^ 0x80000000U) + 2147483648.0 + 0.5) * 0x1p-32;
  }

  /// `inverse_normal` in its central region.
  [[gnu::always_inline]] static double middle(double p) {
    constexpr double over[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                               1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
    constexpr double under[] = {-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                                6.680131188771972e+01,  -1.328068155288572e+01, 1};
    const double q = p + -0.5, r = q * q;
    return random_bits::polynomial(over, r) * q / random_bits::polynomial(under, r);
  }

  /// `inverse_normal` in its tails.
  [[gnu::always_inline]] static double tail(double p) {
    constexpr double over[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                               -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
    constexpr double under[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00, 1};
    const double q = __builtin_sqrt(-2 * log_unit(p < kTail ? p : 1 + -p));
    const double z = random_bits::polynomial(over, q) / random_bits::polynomial(under, q);
    return p < kTail ? z : -z;
  }

  /// random_bits::log_unit, with the exponent extracted from the bits instead of counted.
  [[gnu::always_inline]] static double log_unit(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const auto exponent = static_cast<std::int32_t>(bits >> 52) - 1023;
    const double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000);
    const double s = (m + -1) / (m + 1), square = s * s;
    double series = 0;
#pragma GCC unroll 16
    for (int power = 31; power > 0; power -= 2) series = series * square + 2.0 / power;
    return s * series + exponent * 0.69314718055994530942;
  }
};

/// Draws elements `begin` to `end`; `begin` must be the start of a block.
template <class Kind, class Float>
[[gnu::always_inline]] inline void draw_numbers(const Draw& draw, Float* out, std::int64_t begin, std::int64_t end) {
  Words words;
  for (std::int64_t i = begin; i < end; i += kGroup) {
    const std::int64_t count = std::min(kGroup, end - i);
    draw_words(draw, static_cast<unsigned long long>(i / Kind::kABlock), (count + Kind::kABlock - 1) / Kind::kABlock, words);
    Kind::group(draw, words, out + i, count);
  }
}

template <class Kind, class Float>
void draw_anywhere(const Draw& draw, Float* out, std::int64_t begin, std::int64_t end) {
  draw_numbers<Kind>(draw, out, begin, end);
}
#if CLEAVE_SEVERAL_SETS
template <class Kind, class Float>
[[gnu::target("avx2")]] void draw_avx2(const Draw& draw, Float* out, std::int64_t begin, std::int64_t end) {
  draw_numbers<Kind>(draw, out, begin, end);
}
template <class Kind, class Float>
[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw")]] void draw_avx512(const Draw& draw, Float* out, std::int64_t begin, std::int64_t end) {
  draw_numbers<Kind>(draw, out, begin, end);
}
#endif

template <class Kind, class Float>
auto fastest() {
#if CLEAVE_SEVERAL_SETS
  if (instructions() >= Instructions::avx512) return draw_avx512<Kind, Float>;
  if (instructions() >= Instructions::avx2) return draw_avx2<Kind, Float>;
#endif
  return draw_anywhere<Kind, Float>;
}

/// Draws many at a time. Words that rejection sampling discards are drawn anew one by one, which is rare for small ranges.
template <class T>
void draw_integers(const Draw& draw, std::int64_t low, std::int64_t high, T* out, std::int64_t begin, std::int64_t end) {
  const auto range = static_cast<unsigned long long>(high) - static_cast<unsigned long long>(low);
  const bool narrow = range <= 0xFFFFFFFFULL;
  const unsigned long long least = narrow ? (0x100000000ULL - range) % range : 0;
  Words words;
  for (std::int64_t i = begin; i < end; i += kGroup) {
    const std::int64_t count = std::min(kGroup, end - i);
    if (narrow) draw_words(draw, static_cast<unsigned long long>(i / 4), (count + 3) / 4, words);
    for (std::int64_t k = 0; k < count; ++k) {
      const unsigned long long product = narrow ? words[static_cast<std::size_t>(k)] * range : 0;
      const auto index = static_cast<unsigned long long>(i) + static_cast<unsigned long long>(k);
      out[i + k] = narrow && (product & 0xFFFFFFFFULL) >= least
                       ? static_cast<T>(static_cast<unsigned long long>(low) + (product >> 32))
                       : static_cast<T>(random_bits::integer(draw.seed, draw.step, index, low, high));
    }
  }
}

Draw draw_of(const KernelCall& call) {
  Draw draw{static_cast<unsigned long long>(call.attributes.get_or<std::int64_t>("seed", 0)), 0, 0, 1};
  if (!call.inputs.empty()) {
    dispatch(call.inputs[0].type->dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>) draw.step = static_cast<unsigned long long>(*call.inputs[0].as<T>());
    });
  }
  return draw;
}

template <template <class> class Kind>
Status draw_kernel(const KernelCall& call, double first, double second) {
  Draw draw = draw_of(call);
  draw.first = first;
  draw.second = second;
  const TensorType& type = *call.results[0].type;
  const auto run = [&](auto* out) {
    using Float = std::remove_pointer_t<decltype(out)>;
    static const auto loop = fastest<Kind<Float>, Float>();
    call.workers.each_part(type.elements(), kPiece, [&](std::int64_t begin, std::int64_t end) { loop(draw, out, begin, end); });
  };
  type.dtype == DType::f32 ? run(call.results[0].as<float>()) : run(call.results[0].as<double>());
  return {};
}

Status integers_kernel(const KernelCall& call) {
  const Draw draw = draw_of(call);
  const auto low = call.attributes.get<std::int64_t>("low"), high = call.attributes.get<std::int64_t>("high");
  const TensorType& type = *call.results[0].type;
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      T* out = call.results[0].as<T>();
      call.workers.each_part(type.elements(), kPiece,
                             [&](std::int64_t begin, std::int64_t end) { draw_integers(draw, low, high, out, begin, end); });
    }
  });
  return {};
}

Status uniform_kernel(const KernelCall& call) {
  return draw_kernel<Uniform>(call, call.attributes.get_or("low", 0.0), call.attributes.get_or("high", 1.0));
}
Status normal_kernel(const KernelCall& call) {
  return draw_kernel<Normal>(call, call.attributes.get_or("mean", 0.0), call.attributes.get_or("std", 1.0));
}

}  // namespace

constexpr KernelRow rows::random_uniform{uniform_kernel};
constexpr KernelRow rows::random_normal{normal_kernel};
constexpr KernelRow rows::random_integers{integers_kernel};
constexpr KernelRow rows::random_permutation = kReferenceOnly;

}  // namespace cleave::runtime::host
