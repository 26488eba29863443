#include "executor/host/fourier_plan.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "executor/host/long_copy.h"
#include "executor/host/several_sets.h"
#include "graph/base/stop.h"

namespace cleave::runtime::host {
namespace {

/// exp(-2 pi i k / n), computed from an angle of at most an eighth of a turn for full precision.
struct Root {
  double re, im;
};
Root root(std::int64_t k, std::int64_t n) {
  k %= n;
  const bool below = 2 * k > n;
  if (below) k = n - k;  // half a turn, then a quarter, then an eighth
  const bool left = 4 * k > n;
  std::int64_t eighths = left ? n - 2 * k : 2 * k;  // in half steps
  const bool steep = 4 * eighths > n;
  const double turn = std::numbers::pi / static_cast<double>(2 * n) * static_cast<double>(steep ? n - 2 * eighths : 2 * eighths);
  double c = std::cos(turn), s = std::sin(turn);
  if (steep) std::swap(c, s);
  return {left ? -c : c, below ? s : -s};
}

constexpr std::int64_t kPassWork = 1 << 19;  ///< elements of a pass between two polls of the stop sign

/// The arguments of one pass: `rest` groups of `radix` elements that lie `rest` apart, each with `stride` neighbouring columns.
template <class T>
struct PassCall {
  std::int64_t radix, rest, stride;
  std::int64_t begin, end;  ///< the groups that this call computes
  const T *re, *im;         ///< roots
  SplitLines<T> x, y;
};

template <class T>
[[gnu::always_inline]] inline void pass_of_two(const PassCall<T>& call) {
  const std::int64_t s = call.stride, m = call.rest;
  for (std::int64_t p = call.begin; p < call.end; ++p) {
    const T c = call.re[2 * p + 1], d = call.im[2 * p + 1];
    const T *ar = call.x.re + s * p, *ai = call.x.im + s * p, *br = ar + s * m, *bi = ai + s * m;
    T *yr = call.y.re + 2 * s * p, *yi = call.y.im + 2 * s * p;
    CLEAVE_INDEPENDENT
    for (std::int64_t q = 0; q < s; ++q) {
      const T dr = ar[q] - br[q], di = ai[q] - bi[q];
      yr[q] = ar[q] + br[q];
      yi[q] = ai[q] + bi[q];
      yr[q + s] = dr * c - di * d;
      yi[q + s] = dr * d + di * c;
    }
  }
}

template <class T>
[[gnu::always_inline]] inline void pass_of_four(const PassCall<T>& call) {
  const std::int64_t s = call.stride, m = call.rest;
  for (std::int64_t p = call.begin; p < call.end; ++p) {
    const T *wr = call.re + 4 * p, *wi = call.im + 4 * p;
    const T c1 = wr[1], d1 = wi[1], c2 = wr[2], d2 = wi[2], c3 = wr[3], d3 = wi[3];
    const T *xr = call.x.re + s * p, *xi = call.x.im + s * p;
    T *yr = call.y.re + 4 * s * p, *yi = call.y.im + 4 * s * p;
    CLEAVE_INDEPENDENT
    for (std::int64_t q = 0; q < s; ++q) {
      const T r0 = xr[q] + xr[q + 2 * s * m], i0 = xi[q] + xi[q + 2 * s * m];
      const T r1 = xr[q] - xr[q + 2 * s * m], i1 = xi[q] - xi[q + 2 * s * m];
      const T r2 = xr[q + s * m] + xr[q + 3 * s * m], i2 = xi[q + s * m] + xi[q + 3 * s * m];
      const T r3 = xi[q + s * m] - xi[q + 3 * s * m], i3 = xr[q + 3 * s * m] - xr[q + s * m];  // times -i
      yr[q] = r0 + r2;
      yi[q] = i0 + i2;
      const T ar = r1 + r3, ai = i1 + i3, br = r0 - r2, bi = i0 - i2, cr = r1 - r3, ci = i1 - i3;
      yr[q + s] = ar * c1 - ai * d1;
      yi[q + s] = ar * d1 + ai * c1;
      yr[q + 2 * s] = br * c2 - bi * d2;
      yi[q + 2 * s] = br * d2 + bi * c2;
      yr[q + 3 * s] = cr * c3 - ci * d3;
      yi[q + 3 * s] = cr * d3 + ci * c3;
    }
  }
}

/// A direct sum of `radix` terms for each output: for odd radices, which are small.
template <class T, int radix>
[[gnu::always_inline]] inline void pass_of(const PassCall<T>& call) {
  const std::int64_t s = call.stride, m = call.rest;
  T c[radix], d[radix];
  for (int k = 0; k < radix; ++k) {
    const Root of = root(k, radix);
    c[k] = static_cast<T>(of.re);
    d[k] = static_cast<T>(of.im);
  }
  for (std::int64_t p = call.begin; p < call.end; ++p) {
    const T *wr = call.re + radix * p, *wi = call.im + radix * p;
    const T *xr = call.x.re + s * p, *xi = call.x.im + s * p;
    T *yr = call.y.re + radix * s * p, *yi = call.y.im + radix * s * p;
    CLEAVE_INDEPENDENT
    for (std::int64_t q = 0; q < s; ++q) {
      // Terms j and radix - j have the same cosine and opposite sines.
      constexpr int kHalf = (radix - 1) / 2;
      T plus_r[kHalf], plus_i[kHalf], minus_r[kHalf], minus_i[kHalf];
      const T r0 = xr[q], i0 = xi[q];
      T sum_r = r0, sum_i = i0;
#pragma GCC unroll 8
      for (int j = 1; j <= kHalf; ++j) {
        const T ar = xr[q + j * s * m], ai = xi[q + j * s * m], br = xr[q + (radix - j) * s * m], bi = xi[q + (radix - j) * s * m];
        plus_r[j - 1] = ar + br;
        plus_i[j - 1] = ai + bi;
        minus_r[j - 1] = ar - br;
        minus_i[j - 1] = ai - bi;
        sum_r += plus_r[j - 1];
        sum_i += plus_i[j - 1];
      }
      yr[q] = sum_r;
      yi[q] = sum_i;
#pragma GCC unroll 8
      for (int k = 1; k <= kHalf; ++k) {
        T er = r0, ei = i0, fr = 0, fi = 0;
#pragma GCC unroll 8
        for (int j = 1; j <= kHalf; ++j) {
          er += c[j * k % radix] * plus_r[j - 1];
          ei += c[j * k % radix] * plus_i[j - 1];
          fr -= d[j * k % radix] * minus_i[j - 1];
          fi += d[j * k % radix] * minus_r[j - 1];
        }
        const T ar = er + fr, ai = ei + fi, br = er - fr, bi = ei - fi;
        yr[q + k * s] = ar * wr[k] - ai * wi[k];
        yi[q + k * s] = ar * wi[k] + ai * wr[k];
        yr[q + (radix - k) * s] = br * wr[radix - k] - bi * wi[radix - k];
        yi[q + (radix - k) * s] = br * wi[radix - k] + bi * wr[radix - k];
      }
    }
  }
}

template <class T>
[[gnu::always_inline]] inline void run_pass(const PassCall<T>& call) {
  switch (call.radix) {
    case 2: return pass_of_two(call);
    case 3: return pass_of<T, 3>(call);
    case 4: return pass_of_four(call);
    case 5: return pass_of<T, 5>(call);
    case 7: return pass_of<T, 7>(call);
    case 11: return pass_of<T, 11>(call);
    default: return pass_of<T, 13>(call);
  }
}

template <class T>
void pass_anywhere(const PassCall<T>& call) {
  run_pass(call);
}
#if CLEAVE_SEVERAL_SETS
template <class T>
CLEAVE_WITH_AVX2 void pass_avx2(const PassCall<T>& call) {
  run_pass(call);
}
template <class T>
CLEAVE_WITH_AVX512 void pass_avx512(const PassCall<T>& call) {
  run_pass(call);
}
#endif

template <class T>
auto fastest() {
#if CLEAVE_SEVERAL_SETS
  if (instructions() >= Instructions::avx512) return pass_avx512<T>;
  if (instructions() >= Instructions::avx2) return pass_avx2<T>;
#endif
  return pass_anywhere<T>;
}

/// The factors of n: fours, at most one two, and small odd ones; then a 0 if a larger factor remains.
std::vector<std::int64_t> radices(std::int64_t n) {
  std::vector<std::int64_t> found;
  for (const std::int64_t radix : {4, 2, 3, 5, 7, 11, 13}) {
    for (; n % radix == 0; n /= radix) found.push_back(radix);
  }
  if (n > 1) return {};
  return found;
}

}  // namespace

/// Bluestein's algorithm: x times the chirp, convolved with the chirp's conjugate, times the chirp.
template <class T>
struct FourierPlan<T>::Convolution {
  explicit Convolution(std::int64_t n) : plan(length_for(n)), re(chirp(n, true)), im(chirp(n, false)) {
    const std::int64_t m = plan.length();
    kernel_re.assign(static_cast<std::size_t>(m), T(0));
    kernel_im = kernel_re;
    StopLooks looks;
    for (std::int64_t j = 0; j < n; ++j) {
      looks.worked(4);
      for (const std::int64_t at : {j, (m - j) % m}) {
        kernel_re[static_cast<std::size_t>(at)] = re[static_cast<std::size_t>(j)];
        kernel_im[static_cast<std::size_t>(at)] = -im[static_cast<std::size_t>(j)];
      }
    }
    std::vector<T> work(static_cast<std::size_t>(plan.scratch()));
    plan.run({kernel_re.data(), kernel_im.data()}, 1, work.data());
    for (std::vector<T>* part : {&kernel_re, &kernel_im})
      for (T& value : *part) value /= static_cast<T>(m);
  }

  void run(SplitLines<T> x, std::int64_t lines, T* scratch) const {
    const std::int64_t m = plan.length(), n = static_cast<std::int64_t>(re.size());
    const SplitLines<T> a{scratch, scratch + m * lines};
    T* inner = scratch + 2 * m * lines;
    multiply(x, a, re.data(), im.data(), n, lines);
    fill_long(a.re + n * lines, (m - n) * lines, T(0));
    fill_long(a.im + n * lines, (m - n) * lines, T(0));
    plan.run(a, lines, inner);
    multiply(a, a, kernel_re.data(), kernel_im.data(), m, lines);
    plan.run({a.im, a.re}, lines, inner);  // backward
    multiply(a, x, re.data(), im.data(), n, lines);
  }

  FourierPlan plan;
  std::vector<T> re, im, kernel_re, kernel_im;

 private:
  /// The shortest of 2^k, 3 2^k and 5 2^k that holds the convolution.
  static std::int64_t length_for(std::int64_t n) {
    std::int64_t best = 0;
    for (const std::int64_t odd : {1, 3, 5}) {
      std::int64_t length = odd;
      while (length < 2 * n - 1) length *= 2;
      if (best == 0 || length < best) best = length;
    }
    return best;
  }
  /// exp(-pi i j^2 / n)
  static std::vector<T> chirp(std::int64_t n, bool real) {
    std::vector<T> result;
    std::int64_t square = 0;  // j^2 modulo 2n
    StopLooks looks;
    for (std::int64_t j = 0; j < n; ++j) {
      looks.worked(16);
      const Root of = root(square, 2 * n);
      result.push_back(static_cast<T>(real ? of.re : of.im));
      square = (square + 2 * j + 1) % (2 * n);
    }
    return result;
  }
  static void multiply(SplitLines<T> x, SplitLines<T> y, const T* c, const T* d, std::int64_t n, std::int64_t lines) {
    StopLooks looks;
    for (std::int64_t j = 0; j < n; ++j) {
      looks.worked(lines);
      const T cj = c[j], dj = d[j];
      for (std::int64_t q = j * lines; q < (j + 1) * lines; ++q) {
        const T r = x.re[q] * cj - x.im[q] * dj, i = x.re[q] * dj + x.im[q] * cj;
        y.re[q] = r;
        y.im[q] = i;
      }
    }
  }
};

template <class T>
FourierPlan<T>::FourierPlan(std::int64_t n) : n_(n) {
  std::int64_t rest = n;
  for (const std::int64_t radix : radices(n)) {
    rest /= radix;
    Pass pass{radix, rest, {}, {}};
    StopLooks looks;
    for (std::int64_t p = 0; p < rest; ++p) {
      looks.worked(16 * radix);
      for (std::int64_t k = 0; k < radix; ++k) {
        const Root of = root(p * k, radix * rest);
        pass.re.push_back(static_cast<T>(of.re));
        pass.im.push_back(static_cast<T>(of.im));
      }
    }
    passes_.push_back(std::move(pass));
  }
  if (passes_.empty() && n > 1) convolution_ = std::make_unique<Convolution>(n);
}
template <class T>
FourierPlan<T>::FourierPlan(FourierPlan&&) noexcept = default;
template <class T>
FourierPlan<T>& FourierPlan<T>::operator=(FourierPlan&&) noexcept = default;
template <class T>
FourierPlan<T>::~FourierPlan() = default;

template <class T>
std::int64_t FourierPlan<T>::scratch() const {
  return convolution_ ? 2 * convolution_->plan.length() + convolution_->plan.scratch() : 2 * n_;
}

template <class T>
void FourierPlan<T>::run(SplitLines<T> x, std::int64_t lines, T* scratch) const {
  if (convolution_) return convolution_->run(x, lines, scratch);
  static const auto pass_by = fastest<T>();
  SplitLines<T> from = x, to{scratch, scratch + n_ * lines};
  std::int64_t stride = lines;
  for (const Pass& pass : passes_) {
    each_long(
        pass.rest,
        [&](std::int64_t begin, std::int64_t end) {
          pass_by({pass.radix, pass.rest, stride, begin, end, pass.re.data(), pass.im.data(), from, to});
        },
        std::max<std::int64_t>(1, kPassWork / (pass.radix * stride)));
    std::swap(from, to);
    stride *= pass.radix;
  }
  if (from.re == x.re) return;
  const std::int64_t bytes = n_ * lines * static_cast<std::int64_t>(sizeof(T));
  copy_long(x.re, from.re, bytes);
  copy_long(x.im, from.im, bytes);
}

template class FourierPlan<float>;
template class FourierPlan<double>;

}  // namespace cleave::runtime::host
