// Random numbers as a function of (seed, step, index) alone, bit-equal on every device: Philox 4x32-10 (Salmon, Moraes, Dror and Shaw,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011) and an inverse normal distribution from basic operations only, each rounded by
// itself (no fused multiply-add). Plain types and no library headers in device code, which includes this file too.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define CLEAVE_ON_DEVICES __host__ __device__ inline
#else
#include <cmath>
#define CLEAVE_ON_DEVICES inline
#endif

namespace cleave::random_bits {

struct Block {
  unsigned int word[4];
};

CLEAVE_ON_DEVICES Block philox(Block counter, unsigned long long seed) {
  auto key0 = static_cast<unsigned int>(seed), key1 = static_cast<unsigned int>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const unsigned long long product0 = 0xD2511F53ULL * counter.word[0], product1 = 0xCD9E8D57ULL * counter.word[2];
    counter = {{static_cast<unsigned int>(product1 >> 32) ^ counter.word[1] ^ key0, static_cast<unsigned int>(product1),
                static_cast<unsigned int>(product0 >> 32) ^ counter.word[3] ^ key1, static_cast<unsigned int>(product0)}};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return counter;
}

/// The block of four words at `index` of the sequence of `seed` and `step`.
CLEAVE_ON_DEVICES Block block(unsigned long long seed, unsigned long long step, unsigned long long index) {
  return philox({{static_cast<unsigned int>(index), static_cast<unsigned int>(index >> 32), static_cast<unsigned int>(step),
                  static_cast<unsigned int>(step >> 32)}},
                seed);
}

/// Element `index` of a tensor of integers from `low` to below `high`: the high part of bits times the number of integers (D. Lemire, "Fast
/// random integer generation in an interval", 2019). Bits that would bias the result are rejected and drawn again from the sequence of
/// another seed. Uses 32 bits if the number of integers fits.
CLEAVE_ON_DEVICES long long integer(unsigned long long seed, unsigned long long step, unsigned long long index, long long low,
                                    long long high) {
  const unsigned long long range = static_cast<unsigned long long>(high) - static_cast<unsigned long long>(low);
  if (range <= 0xFFFFFFFFULL) {
    const unsigned long long least = (0x100000000ULL - range) % range;
    for (;; seed += 0x9E3779B97F4A7C15ULL) {
      const unsigned long long product = block(seed, step, index / 4).word[index % 4] * range;
      if ((product & 0xFFFFFFFFULL) >= least) return static_cast<long long>(static_cast<unsigned long long>(low) + (product >> 32));
    }
  }
  const unsigned long long least = (0ULL - range) % range, range_low = range & 0xFFFFFFFFULL, range_high = range >> 32;
  for (;; seed += 0x9E3779B97F4A7C15ULL) {
    const Block bits = block(seed, step, index / 2);
    const unsigned long long first = bits.word[index % 2 * 2], second = bits.word[index % 2 * 2 + 1];
    const unsigned long long low_low = second * range_low, low_high = second * range_high, high_low = first * range_low;
    const unsigned long long middle = (low_low >> 32) + (low_high & 0xFFFFFFFFULL) + (high_low & 0xFFFFFFFFULL);
    const unsigned long long bottom = (middle << 32) | (low_low & 0xFFFFFFFFULL);
    const unsigned long long top = first * range_high + (low_high >> 32) + (high_low >> 32) + (middle >> 32);
    if (bottom >= least) return static_cast<long long>(static_cast<unsigned long long>(low) + top);
  }
}

// --- arithmetic that no compiler fuses ---------------------------------------------------------------------------------------------------

#if defined(__CUDA_ARCH__)
CLEAVE_ON_DEVICES double add(double a, double b) {
  return __dadd_rn(a, b);
}
CLEAVE_ON_DEVICES double mul(double a, double b) {
  return __dmul_rn(a, b);
}
CLEAVE_ON_DEVICES double div(double a, double b) {
  return __ddiv_rn(a, b);
}
CLEAVE_ON_DEVICES double root(double a) {
  return __dsqrt_rn(a);
}
#else  // built with -ffp-contract=off
CLEAVE_ON_DEVICES double add(double a, double b) {
  return a + b;
}
CLEAVE_ON_DEVICES double mul(double a, double b) {
  return a * b;
}
CLEAVE_ON_DEVICES double div(double a, double b) {
  return a / b;
}
CLEAVE_ON_DEVICES double root(double a) {
  return std::sqrt(a);
}
#endif

template <int count>
CLEAVE_ON_DEVICES double polynomial(const double (&coefficients)[count], double x) {
  double sum = coefficients[0];
  for (int i = 1; i < count; ++i) sum = add(mul(sum, x), coefficients[i]);
  return sum;
}

/// Natural logarithm of 0 < x <= 1: x = m / 2^n with m in [1, 2), and log m = 2 artanh((m - 1) / (m + 1)) by its series.
CLEAVE_ON_DEVICES double log_unit(double x) {
  int halvings = 0;
  for (; x < 1; ++halvings) x = mul(x, 2);
  const double s = div(add(x, -1), add(x, 1));
  const double square = mul(s, s);
  double series = 0;
  for (int power = 31; power > 0; power -= 2) series = add(mul(series, square), div(2, power));
  return add(mul(s, series), mul(-halvings, 0.69314718055994530942));
}

/// Inverse of the standard normal distribution for 0 < p < 1, by P. J. Acklam's rational approximations (relative error 1.2e-9).
CLEAVE_ON_DEVICES double inverse_normal(double p) {
  const double middle_over[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                                1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  const double middle_under[] = {-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                                 6.680131188771972e+01,  -1.328068155288572e+01, 1};
  const double tail_over[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                              -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  const double tail_under[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00, 1};
  const double tail = 0.02425;
  if (p >= tail && p <= 1 - tail) {
    const double q = add(p, -0.5);
    const double r = mul(q, q);
    return div(mul(polynomial(middle_over, r), q), polynomial(middle_under, r));
  }
  const double q = root(mul(-2, log_unit(p < tail ? p : add(1, -p))));
  const double z = div(polynomial(tail_over, q), polynomial(tail_under, q));
  return p < tail ? z : -z;
}

// --- elements ----------------------------------------------------------------------------------------------------------------------------

/// Element `index` of a uniform tensor on [0, 1): 24 bits for f32, 53 for f64.
CLEAVE_ON_DEVICES double unit_f32(unsigned long long seed, unsigned long long step, unsigned long long index) {
  return mul(block(seed, step, index / 4).word[index % 4] >> 8, 0x1p-24);
}
CLEAVE_ON_DEVICES double unit_f64(unsigned long long seed, unsigned long long step, unsigned long long index) {
  const Block bits = block(seed, step, index / 2);
  const unsigned long long high = bits.word[index % 2 * 2] >> 5, low = bits.word[index % 2 * 2 + 1] >> 6;
  return mul(static_cast<double>(high << 26 | low), 0x1p-53);
}
/// [0, 1) stretched to [low, high); the rounding to `Float` never reaches `high`.
template <class Float>
CLEAVE_ON_DEVICES Float stretch(double unit, double low, double high) {
  const auto value = static_cast<Float>(add(low, mul(add(high, -low), unit)));
  return value < static_cast<Float>(high) ? value : static_cast<Float>(low);
}
/// Element `index` of a standard normal tensor, from 32 bits.
CLEAVE_ON_DEVICES double normal(unsigned long long seed, unsigned long long step, unsigned long long index) {
  const unsigned bits = block(seed, step, index / 4).word[index % 4];
  return inverse_normal(mul(add(bits, 0.5), 0x1p-32));
}
CLEAVE_ON_DEVICES double scaled(double z, double mean, double deviation) {
  return add(mean, mul(deviation, z));
}

}  // namespace cleave::random_bits
