// Normal numbers of f32 for GPUs on which f64 is slow: the number of random_bits.h is computed in pairs of f32, with a bound on its
// distance from the one computed in f64. If all numbers within the bound round to one f32, that is the result, bitwise identical;
// otherwise, about once in ten thousand numbers, the caller computes in f64 (Ziv, "Fast evaluation of elementary mathematical functions",
// 1991). Knows no generator and no packs. The bounds hold for each of the 2^32 words: tests/executor/cuda/normal_pairs_test.cpp.

/// An unevaluated sum of two numbers; `low` is at most about 2^-22 of `high`.
struct NormalPair {
  f32 high, low;
};

/// Bounds of the relative error of z: three quarters are that of z itself, the rest that of mean + deviation * z.
const f32 middle_bound = 0x1p-39f, tail_bound = 0x1p-36f, mean_bound = 0x1p-42f;
/// Words up to here (or that far from the other end) are in a tail: (104152956 + 0.5) / 2^32 < 0.02425.
const u32 last_in_tail = 104152956u;
/// The distance of a word from the nearer end; the normal distribution is symmetric.
inline u32 from_end(u32 word) {
  return word < ~word ? word : ~word;
}
inline bool word_in_tail(u32 word) {
  return from_end(word) <= last_in_tail;
}

inline NormalPair minus(NormalPair a) {
  return {-a.high, -a.low};
}
inline NormalPair add_pair(f32 a, f32 b) {
  NormalPair sum;
  sum.high = a + b;
  const f32 part = sum.high - a;
  sum.low = (a - (sum.high - part)) + (b - part);
  return sum;
}
inline NormalPair times_pair(NormalPair a, NormalPair b) {
  NormalPair product;
  product.high = a.high * b.high;
  product.low = __fmaf_rn(a.low, b.high, __fmaf_rn(a.high, b.low, __fmaf_rn(a.high, b.high, -product.high)));
  return product;
}
inline NormalPair divide_pair(NormalPair a, NormalPair b) {
  const f32 inverse = 1.0f / b.high;
  NormalPair quotient;
  quotient.high = a.high * inverse;
  const f32 rest = __fmaf_rn(-quotient.high, b.high, a.high) + __fmaf_rn(-quotient.high, b.low, a.low);
  quotient.low = rest * inverse;
  return quotient;
}
/// sum * x + (high + low): a step of Horner's rule.
inline NormalPair next_pair(NormalPair sum, NormalPair x, f32 high, f32 low) {
  const f32 product = sum.high * x.high, lost = __fmaf_rn(sum.high, x.high, -product);
  NormalPair next = add_pair(high, product);
  next.low = __fmaf_rn(sum.low, x.high, __fmaf_rn(sum.high, x.low, (lost + next.low) + low));
  return next;
}

/// Coefficients of inverse_normal, each a pair. Between the tails as polynomials in 4 p (1 - p) instead of (p - 1/2)^2: there all of them
/// are positive, so that nothing cancels.
inline NormalPair normal_pair_in_middle(u32 word) {
  const u32 near = from_end(word), x = 2 * (near > last_in_tail ? near : last_in_tail + 1) + 1;  // p = x / 2^33
  const u64 square = ((u64)x << 33) - (u64)x * x;                                                            // 4 p (1 - p) of 2^64
  const u32 top = (u32)(square >> 32), rest = (u32)(square >> 8), away = 0u - x;                             // 2^33 |p - 1/2|
  NormalPair t, q;
  t.high = (f32)(top & 0xFFFFFF00u) * 0x1p-32f;
  t.low = (f32)rest * 0x1p-56f;
  q.high = (f32)away;
  q.low = (f32)(i32)(away - (u32)q.high) * 0x1p-33f;
  q.high *= 0x1p-33f;
  NormalPair over = {0x1.3d931cp-5f, -0x1.f0fd6ep-32f}, under = {0x1.b3cf0cp-5f, 0x1.c60098p-30f};
  over = next_pair(over, t, 0x1.56a66ep-1f, 0x1.5aa88p-27f);
  over = next_pair(over, t, 0x1.3f2bf6p+0f, 0x1.7648cap-28f);
  over = next_pair(over, t, 0x1.020868p-1f, 0x1.dbbdc2p-29f);
  over = next_pair(over, t, 0x1.827d3ap-5f, -0x1.d976ep-30f);
  over = next_pair(over, t, 0x1.740096p-11f, -0x1.6229a8p-36f);
  under = next_pair(under, t, 0x1.75f67ep-2f, -0x1.bf5f84p-28f);
  under = next_pair(under, t, 0x1.c29240p-2f, -0x1.b5e8e6p-27f);
  under = next_pair(under, t, 0x1.0e1066p-3f, -0x1.0fa80cp-28f);
  under = next_pair(under, t, 0x1.3b07bap-7f, 0x1.1b318ap-32f);
  under = next_pair(under, t, 0x1.cf11dep-14f, 0x1.30eb0p-39f);
  const NormalPair z = divide_pair(times_pair(over, q), under);
  return word < ~word ? minus(z) : z;
}

/// Natural logarithm of (2 near + 1) / 2^33, of a word in a tail: 2^n m with m about 1, and log m = 2 artanh((m - 1) / (m + 1)).
inline NormalPair log_pair(u32 near) {
  const u32 x = 2 * near + 1;
  const f32 rounded = (f32)x;
  const i32 bits = __float_as_int(rounded), n = (bits - 0x3F3504F3) >> 23;
  const f32 m = __int_as_float(bits - n * 0x800000), rest = (f32)(i32)(x - (u32)rounded) * __int_as_float((127 - n) * 0x800000);
  NormalPair above = {m - 1, rest}, below = add_pair(1, m);
  below.low += rest;
  const NormalPair s = divide_pair(above, below), square = times_pair(s, s);
  const f32 z = square.high;
  f32 series = 0x1.e1e1e2p-4f;  // 2/17, 2/15, …
  series = __fmaf_rn(series, z, 0x1.111112p-3f);
  series = __fmaf_rn(series, z, 0x1.3b13b2p-3f);
  series = __fmaf_rn(series, z, 0x1.745d18p-3f);
  series = __fmaf_rn(series, z, 0x1.c71c72p-3f);
  series = __fmaf_rn(series, z, 0x1.24924ap-2f);
  series = __fmaf_rn(series, z, 0x1.99999ap-2f);
  NormalPair factor = add_pair(0x1.555556p-1f, series * z);
  factor.low += -0x1.555556p-26f;
  const NormalPair cube = times_pair(times_pair(square, s), factor);
  const f32 halvings = (f32)(n - 33);
  const NormalPair sum = add_pair(halvings * 0x1.62e4p-1f, 2 * s.high);
  NormalPair all = add_pair(sum.high, cube.high);
  all.low += sum.low + (cube.low + __fmaf_rn(halvings, 0x1.7f7d1cp-20f, 2 * s.low));
  return all;
}

inline NormalPair normal_pair_in_tail(u32 word) {
  const NormalPair log = log_pair(from_end(word));
  const f32 square = -2 * log.high, root = sqrtf(square);
  const NormalPair q = {root, __fmaf_rn(-2, log.low, __fmaf_rn(-root, root, square)) * (0.5f / root)};
  NormalPair over = {-0x1.fe30dap-8f, 0x1.b6a604p-33f}, under = {0x1.fe2d86p-8f, -0x1.0a6c06p-33f};
  over = next_pair(over, q, -0x1.4a224cp-2f, -0x1.d10370p-31f);
  over = next_pair(over, q, -0x1.334c0cp+1f, -0x1.701758p-27f);
  over = next_pair(over, q, -0x1.465da2p+1f, -0x1.8e0744p-24f);
  over = next_pair(over, q, 0x1.17fa80p+2f, -0x1.62b648p-23f);
  over = next_pair(over, q, 0x1.7815c2p+1f, -0x1.c0305ep-27f);
  under = next_pair(under, q, 0x1.4a34d2p-2f, 0x1.6b206cp-27f);
  under = next_pair(under, q, 0x1.38fa28p+1f, -0x1.ba8cf4p-26f);
  under = next_pair(under, q, 0x1.e09076p+1f, 0x1.12b624p-24f);
  under = next_pair(under, q, 1, 0);
  const NormalPair z = divide_pair(over, under);
  return word < ~word ? z : minus(z);
}

/// mean + deviation * z, rounded; false if the f64 of random_bits.h may round to another number.
inline bool round_normal(NormalPair z, f32 bound, NormalPair mean, NormalPair deviation, f32& drawn) {
  const NormalPair product = times_pair(deviation, z), sum = add_pair(mean.high, product.high);
  const f32 low = sum.low + (product.low + mean.low);
  const f32 error = __fmaf_rn(fabsf(product.high), bound, fabsf(mean.high) * mean_bound);
  drawn = sum.high + (low - error);
  return drawn == sum.high + (low + error);
}
