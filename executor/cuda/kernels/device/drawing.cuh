// Random elements, bitwise identical to those of graph/ops/random_bits.h, as many at once as one block of words has. Normal numbers are
// computed in f64, as on the host; drawing_pairs.cuh computes them for GPUs on which f64 is slow.

typedef cleave::random_bits::Block Words;

// --- uniform -----------------------------------------------------------------------------------------------------------------------------

inline void draw_uniform(Words words, f64 low, f64 high, Pack<f32, 4>& drawn) {
#pragma unroll
  for (int l = 0; l < 4; ++l)
    drawn.lane[l] = cleave::random_bits::stretch<f32>(cleave::random_bits::mul(words.word[l] >> 8, 0x1p-24), low, high);
}
inline void draw_uniform(Words words, f64 low, f64 high, Pack<f64, 2>& drawn) {
#pragma unroll
  for (int l = 0; l < 2; ++l) {
    const u64 bits = (u64)(words.word[2 * l] >> 5) << 26 | words.word[2 * l + 1] >> 6;
    drawn.lane[l] = cleave::random_bits::stretch<f64>(cleave::random_bits::mul((f64)bits, 0x1p-53), low, high);
  }
}

// --- integers ----------------------------------------------------------------------------------------------------------------------------

/// A product whose low part is below `least` is drawn again.
template <class T>
inline void draw_integers(Words words, u64 seed, u64 step, u64 index, i64 low, i64 high, u64 least, Pack<T, 4>& drawn) {
  const u64 range = (u64)high - (u64)low;
#pragma unroll
  for (int l = 0; l < 4; ++l) {
    const u64 product = words.word[l] * range;
    drawn.lane[l] = (product & 0xFFFFFFFFull) >= least ? (T)((u64)low + (product >> 32))
                                                       : (T)cleave::random_bits::integer(seed + 0x9E3779B97F4A7C15ull, step, index + l, low, high);
  }
}

// --- normal ------------------------------------------------------------------------------------------------------------------------------

/// log_unit of random_bits.h; reads the exponent from the bits instead of counting it.
inline f64 log_of_unit(f64 x) {
  using namespace cleave::random_bits;
  const u64 bits = (u64)__double_as_longlong(x);
  const f64 m = __longlong_as_double((i64)((bits & 0x000FFFFFFFFFFFFFull) | 0x3FF0000000000000ull));
  const f64 s = div(add(m, -1), add(m, 1)), square = mul(s, s);
  f64 series = 0;
#pragma unroll
  for (int power = 31; power > 0; power -= 2) series = add(mul(series, square), 2.0 / power);
  return add(mul(s, series), mul((i32)(bits >> 52) - 1023, 0.69314718055994530942));
}

inline f64 unit_of(u32 bits) {
  return cleave::random_bits::mul(cleave::random_bits::add(bits, 0.5), 0x1p-32);
}
inline bool in_tail(f64 p) {
  return !(p >= 0.02425 && p <= 1 - 0.02425);
}
/// inverse_normal of random_bits.h between its tails.
inline f64 normal_in_middle(f64 p) {
  using namespace cleave::random_bits;
  const f64 over[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                      1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  const f64 under[] = {-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                       6.680131188771972e+01,  -1.328068155288572e+01, 1};
  const f64 q = add(p, -0.5), r = mul(q, q);
  return div(mul(polynomial(over, r), q), polynomial(under, r));
}
inline f64 normal_in_tail(f64 p) {
  using namespace cleave::random_bits;
  const f64 over[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                      -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  const f64 under[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00, 1};
  const f64 q = root(mul(-2, log_of_unit(p < 0.02425 ? p : add(1, -p))));
  const f64 z = div(polynomial(over, q), polynomial(under, q));
  return p < 0.02425 ? z : -z;
}

inline f64 normal_of(u32 word) {
  const f64 p = unit_of(word);
  return in_tail(p) ? normal_in_tail(p) : normal_in_middle(p);
}

/// Removes the lowest lane from `lanes` and returns it.
inline int next_lane(u32& lanes) {
  const int lane = __ffs((int)lanes) - 1;
  lanes &= lanes - 1;
  return lane;
}
inline u32 word_of(const Words& words, int lane) {
  u32 word = words.word[0];
#pragma unroll
  for (int l = 1; l < 4; ++l) word = l == lane ? words.word[l] : word;
  return word;
}
template <class T>
inline void put_lane(Pack<T, 4>& pack, int lane, T value) {
#pragma unroll
  for (int l = 0; l < 4; ++l) pack.lane[l] = l == lane ? value : pack.lane[l];
}

/// One element in twenty is in a tail, which takes long to compute: a thread computes its tails, mostly none or one, after its other
/// elements.
template <class T>
inline void draw_normal(Words words, f64 mean, f64 deviation, Pack<T, 4>& drawn) {
  u32 tails = 0;
#pragma unroll
  for (int l = 0; l < 4; ++l) {
    const f64 p = unit_of(words.word[l]);
    drawn.lane[l] = (T)cleave::random_bits::scaled(normal_in_middle(p), mean, deviation);
    tails |= in_tail(p) ? 1u << l : 0;
  }
  while (tails != 0) {
    const int lane = next_lane(tails);
    put_lane(drawn, lane, (T)cleave::random_bits::scaled(normal_in_tail(unit_of(word_of(words, lane))), mean, deviation));
  }
}
