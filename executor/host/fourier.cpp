// fft, ifft, rfft and irfft: groups of lines are split into real and imaginary parts, transformed side by side (fourier_plan.h) and
// interleaved again. Real lines of an even length are transformed as complex lines of half that length.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "executor/host/fourier_lines.h"
#include "executor/host/fourier_plan.h"
#include "executor/host/kernels.h"
#include "executor/host/long_copy.h"
#include "executor/host/scratch.h"

namespace cleave::runtime::host {
namespace {

/// The most bytes, and the most lines, of a group: enough lines for the widest vector.
constexpr std::int64_t kGroupBytes = 256 << 10, kMostLines = 16;

/// The layout of the lines along one axis: neighbouring elements of a line are `behind` apart. A complex pair counts as one element.
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

constexpr std::int64_t kLongLine = 1 << 20;  ///< numbers of a line between two polls of the stop sign; even

enum class Kind : std::uint8_t { forward, backward, from_real, to_real };

/// A group of `lines` lines, with element j of line l at `j * lines + l`.
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
    StopLooks looks;
    for (std::int64_t k = 0; k <= n / 2; ++k) {
      looks.worked(16);
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
        if (halved_) loops_.split({group.re, group.im}, lines, n_ / 2, cosines_.data(), sines_.data());
        return write_pairs(group, n_ / 2 + 1, T(1), out, to, first);
      case Kind::to_real:
        read_pairs(in, from, first, group);
        if (halved_) {
          loops_.join({group.re, group.im}, lines, n_ / 2, cosines_.data(), sines_.data());
        } else {
          mirror(group);
        }
        backward();
        return write_reals(group, out, to, first);
    }
  }

 private:
  /// How lines are addressed: `count` numbers of each, with neighbours `behind` units of `unit` numbers apart.
  struct Numbers {
    std::int64_t unit, count;
  };
  void take_apart(const T* in, const Lines& from, std::int64_t first, Numbers numbers, std::int64_t lines, SplitLines<T> to) const {
    if (from.behind == 1) {
      const T* const begin = in + numbers.unit * from.start(first);
      each_long(
          numbers.count,
          [&](std::int64_t at, std::int64_t end) {
            loops_.take_apart({begin + at, numbers.unit * from.extent, end - at}, lines, {to.re + at / 2 * lines, to.im + at / 2 * lines});
          },
          kLongLine);
      return;
    }
    StopLooks looks;
    for (std::int64_t l = 0; l < lines; ++l) {
      const T* x = in + numbers.unit * from.start(first + l);
      for (std::int64_t i = 0; i < numbers.count; ++i) {
        looks.worked();
        (i % 2 == 0 ? to.re : to.im)[i / 2 * lines + l] = x[i / numbers.unit * numbers.unit * from.behind + i % numbers.unit];
      }
    }
  }
  void put_together(SplitLines<T> from, std::int64_t lines, T scale, T* out, const Lines& to, std::int64_t first, Numbers numbers) const {
    if (to.behind == 1) {
      T* const begin = out + numbers.unit * to.start(first);
      each_long(
          numbers.count,
          [&](std::int64_t at, std::int64_t end) {
            loops_.put_together({from.re + at / 2 * lines, from.im + at / 2 * lines}, lines, scale,
                                {begin + at, numbers.unit * to.extent, end - at});
          },
          kLongLine);
      return;
    }
    StopLooks looks;
    for (std::int64_t l = 0; l < lines; ++l) {
      T* y = out + numbers.unit * to.start(first + l);
      for (std::int64_t i = 0; i < numbers.count; ++i) {
        looks.worked();
        y[i / numbers.unit * numbers.unit * to.behind + i % numbers.unit] = (i % 2 == 0 ? from.re : from.im)[i / 2 * lines + l] * scale;
      }
    }
  }

  void read_pairs(const T* in, const Lines& from, std::int64_t first, const Group<T>& group) const {
    take_apart(in, from, first, {2, 2 * from.extent}, group.lines, {group.re, group.im});
  }
  void write_pairs(const Group<T>& group, std::int64_t extent, T scale, T* out, const Lines& to, std::int64_t first) const {
    put_together({group.re, group.im}, group.lines, scale, out, to, first, {2, 2 * extent});
  }

  /// Reads real lines: even elements as real parts and odd ones as imaginary parts if `halved_`, else all as real parts.
  void read_reals(const T* in, const Lines& from, std::int64_t first, const Group<T>& group) const {
    if (halved_) return take_apart(in, from, first, {1, n_}, group.lines, {group.re, group.im});
    fill_long(group.im, n_ * group.lines, T(0));
    StopLooks looks;
    for (std::int64_t l = 0; l < group.lines; ++l) {
      const T* x = in + from.start(first + l);
      for (std::int64_t j = 0; j < n_; ++j) {
        looks.worked();
        group.re[j * group.lines + l] = x[j * from.behind];
      }
    }
  }
  void write_reals(const Group<T>& group, T* out, const Lines& to, std::int64_t first) const {
    const T scale = T(1) / static_cast<T>(n_);
    if (halved_) return put_together({group.re, group.im}, group.lines, scale, out, to, first, {1, n_});
    StopLooks looks;
    for (std::int64_t l = 0; l < group.lines; ++l) {
      T* y = out + to.start(first + l);
      for (std::int64_t j = 0; j < n_; ++j) {
        looks.worked();
        y[j * to.behind] = group.re[j * group.lines + l] * scale;
      }
    }
  }

  /// For odd lengths: fills the second half with the conjugates of the first.
  void mirror(Group<T> g) const {
    const std::int64_t w = g.lines;
    std::fill_n(g.im, w, T(0));
    StopLooks looks;
    for (std::int64_t k = n_ / 2 + 1; k < n_; ++k) {
      looks.worked(w);
      std::copy_n(g.re + (n_ - k) * w, w, g.re + k * w);
      std::transform(g.im + (n_ - k) * w, g.im + (n_ - k + 1) * w, g.im + k * w, [](T x) { return -x; });
    }
  }

  const Kind kind_;
  const std::int64_t n_;
  const bool halved_;
  const FourierPlan<T> plan_;
  const LineLoops<T>& loops_ = line_loops<T>();
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
constexpr KernelRow row() {
  using Kernel = FourierKernel<kind>;
  return {[](const KernelCall& call) { return Kernel().run(call); },
          [](const KernelRequest&) -> std::unique_ptr<HostKernel> { return std::make_unique<Kernel>(); }};
}

}  // namespace

constexpr KernelRow rows::fft = row<Kind::forward>();
constexpr KernelRow rows::ifft = row<Kind::backward>();
constexpr KernelRow rows::rfft = row<Kind::from_real>();
constexpr KernelRow rows::irfft = row<Kind::to_real>();

}  // namespace cleave::runtime::host
