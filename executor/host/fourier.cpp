// fft, ifft, rfft and irfft: some lines at a time are taken apart into real and imaginary parts, transformed side by side (fourier_plan.h)
// and put together again. Real lines of an even length go by way of complex ones of half of it.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "executor/host/fourier_plan.h"
#include "executor/host/kernels.h"
#include "executor/host/scratch.h"

namespace cleave::runtime::host {
namespace {

/// Bytes that a group of lines may take, and lines of a group at most: enough for the longest vector.
constexpr std::int64_t kGroupBytes = 256 << 10, kMostLines = 16;

/// Where the elements of line l lie: line l / behind from the front, its neighbours `behind` apart. Pairs count as one.
struct Lines {
  std::int64_t count = 1, extent = 1, behind = 1;

  Lines(const Shape& shape, bool pairs, std::int64_t axis) {
    const auto rank = static_cast<std::int64_t>(shape.size()) - (pairs ? 1 : 0);
    if (axis < 0) axis += rank;
    for (std::int64_t a = 0; a < rank; ++a) {
      const std::int64_t here = shape[static_cast<std::size_t>(a)];
      if (a == axis) {
        extent = here;
      } else {
        count *= here;
        if (a > axis) behind *= here;
      }
    }
  }
  [[nodiscard]] std::int64_t start(std::int64_t line) const { return line / behind * extent * behind + line % behind; }
};

enum class Kind : std::uint8_t { forward, backward, from_real, to_real };

/// `lines` lines, element j of line l at `j * lines + l`.
template <class T>
struct Group {
  T *re, *im;
  std::int64_t lines;
};

template <class T>
class Transform {
 public:
  Transform(Kind kind, std::int64_t n)
      : kind_(kind), n_(n), halved_((kind == Kind::from_real || kind == Kind::to_real) && n % 2 == 0), plan_(halved_ ? n / 2 : n) {
    if (!halved_) return;
    for (std::int64_t k = 0; k <= n / 2; ++k) {
      const double turn = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
      cosines_.push_back(static_cast<T>(std::cos(turn)));
      sines_.push_back(static_cast<T>(std::sin(turn)));
    }
    cosines_.back() = T(-1);  // half a turn
    sines_.back() = T(0);
  }

  [[nodiscard]] std::int64_t lines_of_group() const {
    const std::int64_t bytes = 4 * n_ * static_cast<std::int64_t>(sizeof(T));
    return std::clamp<std::int64_t>(kGroupBytes / bytes, 1, kMostLines);
  }
  [[nodiscard]] std::int64_t memory(std::int64_t lines) const { return (2 * (n_ + 1) + plan_.scratch()) * lines; }

  void run(const T* in, const Lines& from, T* out, const Lines& to, std::int64_t first, std::int64_t lines, T* memory) const {
    const Group<T> group{memory, memory + (n_ + 1) * lines, lines};
    T* scratch = memory + 2 * (n_ + 1) * lines;
    const auto forward = [&] { plan_.run({group.re, group.im}, lines, scratch); };
    const auto backward = [&] { plan_.run({group.im, group.re}, lines, scratch); };
    switch (kind_) {
      case Kind::forward:
        read_pairs(in, from, first, group);
        forward();
        return write_pairs(group, n_, T(1), out, to, first);
      case Kind::backward:
        read_pairs(in, from, first, group);
        backward();
        return write_pairs(group, n_, T(1) / static_cast<T>(n_), out, to, first);
      case Kind::from_real:
        read_reals(in, from, first, group);
        forward();
        if (halved_) split(group);
        return write_pairs(group, n_ / 2 + 1, T(1), out, to, first);
      case Kind::to_real:
        read_pairs(in, from, first, group);
        halved_ ? join(group) : mirror(group);
        backward();
        return write_reals(group, out, to, first);
    }
  }

 private:
  static void read_pairs(const T* in, const Lines& from, std::int64_t first, Group<T> group) {
    for (std::int64_t l = 0; l < group.lines; ++l) {
      const T* x = in + 2 * from.start(first + l);
      for (std::int64_t j = 0; j < from.extent; ++j) {
        group.re[j * group.lines + l] = x[2 * j * from.behind];
        group.im[j * group.lines + l] = x[2 * j * from.behind + 1];
      }
    }
  }
  static void write_pairs(Group<T> group, std::int64_t extent, T scale, T* out, const Lines& to, std::int64_t first) {
    for (std::int64_t l = 0; l < group.lines; ++l) {
      T* y = out + 2 * to.start(first + l);
      for (std::int64_t k = 0; k < extent; ++k) {
        y[2 * k * to.behind] = group.re[k * group.lines + l] * scale;
        y[2 * k * to.behind + 1] = group.im[k * group.lines + l] * scale;
      }
    }
  }

  /// Even and odd elements as real and imaginary parts, or all as real ones.
  void read_reals(const T* in, const Lines& from, std::int64_t first, Group<T> group) const {
    if (!halved_) std::fill_n(group.im, n_ * group.lines, T(0));
    for (std::int64_t l = 0; l < group.lines; ++l) {
      const T* x = in + from.start(first + l);
      for (std::int64_t j = 0; j < (halved_ ? n_ / 2 : n_); ++j) {
        group.re[j * group.lines + l] = x[(halved_ ? 2 * j : j) * from.behind];
        if (halved_) group.im[j * group.lines + l] = x[(2 * j + 1) * from.behind];
      }
    }
  }
  void write_reals(Group<T> group, T* out, const Lines& to, std::int64_t first) const {
    const T scale = T(1) / static_cast<T>(n_);
    for (std::int64_t l = 0; l < group.lines; ++l) {
      T* y = out + to.start(first + l);
      for (std::int64_t j = 0; j < (halved_ ? n_ / 2 : n_); ++j) {
        y[(halved_ ? 2 * j : j) * to.behind] = group.re[j * group.lines + l] * scale;
        if (halved_) y[(2 * j + 1) * to.behind] = group.im[j * group.lines + l] * scale;
      }
    }
  }

  /// Element k and element h - k of the half transform Z give both of the whole one: X[k] = E + w O with the transforms of the even
  /// elements, E = (Z[k] + conj Z[h - k]) / 2, and of the odd ones, O = (Z[k] - conj Z[h - k]) / 2i, and w = exp(-2 pi i k / n).
  void split(Group<T> g) const {
    const std::int64_t h = n_ / 2, w = g.lines;
    std::copy_n(g.re, w, g.re + h * w);
    std::copy_n(g.im, w, g.im + h * w);
    for (std::int64_t k = 0; k <= h / 2; ++k) {
      const T c = cosines_[static_cast<std::size_t>(k)], s = sines_[static_cast<std::size_t>(k)];
      T *ar = g.re + k * w, *ai = g.im + k * w, *br = g.re + (h - k) * w, *bi = g.im + (h - k) * w;
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
  /// The other way: Z[k] = (X[k] + conj X[h - k]) + i conj(w) (X[k] - conj X[h - k]), twice as large. The first and the last of X are real.
  void join(Group<T> g) const {
    const std::int64_t h = n_ / 2, w = g.lines;
    std::fill_n(g.im, w, T(0));
    std::fill_n(g.im + h * w, w, T(0));
    for (std::int64_t k = 0; k <= h / 2; ++k) {
      const T c = cosines_[static_cast<std::size_t>(k)], s = sines_[static_cast<std::size_t>(k)];
      T *ar = g.re + k * w, *ai = g.im + k * w, *br = g.re + (h - k) * w, *bi = g.im + (h - k) * w;
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
  /// Of an odd length: the second half is the first one's conjugate.
  void mirror(Group<T> g) const {
    const std::int64_t w = g.lines;
    std::fill_n(g.im, w, T(0));
    for (std::int64_t k = n_ / 2 + 1; k < n_; ++k) {
      std::copy_n(g.re + (n_ - k) * w, w, g.re + k * w);
      std::transform(g.im + (n_ - k) * w, g.im + (n_ - k + 1) * w, g.im + k * w, [](T x) { return -x; });
    }
  }

  const Kind kind_;
  const std::int64_t n_;
  const bool halved_;
  const FourierPlan<T> plan_;
  std::vector<T> cosines_, sines_;
};

template <Kind kind>
class FourierKernel final : public HostKernel {
 public:
  Status run(const KernelCall& call) override {
    if (call.results[0].type->elements() == 0) return {};
    call.inputs[0].type->dtype == DType::f32 ? run_as(call, single_, singles_) : run_as(call, both_, doubles_);
    return {};
  }

 private:
  template <class T>
  void run_as(const KernelCall& call, std::optional<Transform<T>>& transform, Scratch<T>& scratch) {
    const auto axis = call.attributes.get_or<std::int64_t>("axis", -1);
    const Lines from(call.inputs[0].type->shape, kind != Kind::from_real, axis),
        to(call.results[0].type->shape, kind != Kind::to_real, axis);
    if (!transform) transform.emplace(kind, kind == Kind::to_real ? to.extent : from.extent);
    const std::int64_t grain = transform->lines_of_group();
    scratch.reserve(call.workers.threads(), transform->memory(grain));
    const auto some = [&](std::int64_t begin, std::int64_t end) {
      const typename Scratch<T>::Part part(scratch);
      transform->run(call.inputs[0].as<T>(), from, call.results[0].as<T>(), to, begin, end - begin, part.data());
    };
    call.workers.each_part(from.count, grain, some);
  }

  std::optional<Transform<float>> single_;
  std::optional<Transform<double>> both_;
  Scratch<float> singles_;
  Scratch<double> doubles_;
};

template <Kind kind>
constexpr KernelRow row(std::string_view op) {
  using Kernel = FourierKernel<kind>;
  return {op, [](const KernelCall& call) { return Kernel().run(call); },
          [](const KernelRequest&) -> std::unique_ptr<HostKernel> { return std::make_unique<Kernel>(); }};
}

}  // namespace

std::span<const KernelRow> fourier_kernels() {
  static constexpr KernelRow rows[] = {row<Kind::forward>("fft"), row<Kind::backward>("ifft"), row<Kind::from_real>("rfft"),
                                       row<Kind::to_real>("irfft")};
  return rows;
}

}  // namespace cleave::runtime::host
