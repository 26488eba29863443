// Gradients of convolutions by their engines, and of pools one channel at a time.
#include <array>
#include <limits>
#include <vector>

#include "executor/host/convolution/gradients.h"
#include "executor/host/kernels.h"
#include "executor/host/long_copy.h"
#include "executor/host/narrow.h"
#include "executor/host/scratch.h"
#include "graph/base/stop.h"
#include "graph/ops/window_gradients.h"

namespace cleave::runtime::host {
namespace {

constexpr std::int64_t kPiece = 1 << 14;    ///< least elements of windows in one piece of the work
constexpr std::int64_t kSquares = 1 << 20;  ///< windows between two looks at the stop sign

KernelRequest request_of(const KernelCall& call) {
  KernelRequest request{{}, &call.op, &call.attributes, {}, {}, {}, {}, {}, {}};
  for (const TensorView& input : call.inputs) request.input_types.push_back(*input.type);
  for (const TensorView& result : call.results) request.result_types.push_back(*result.type);
  return request;
}

/// `Engine<T>` is made from a request, and computes a result from operands of T; f16 and bf16 are computed in f32.
template <class Engine, class T>
class GradientKernel final : public HostKernel {
 public:
  explicit GradientKernel(const KernelRequest& request) : engine_(request) {}
  Status run(const KernelCall& call) override {
    std::array<const T*, 2> operands{};
    for (std::size_t i = 0; i < call.inputs.size(); ++i) operands[i] = call.inputs[i].template as<T>();
    engine_.run(call.workers, operands, call.results[0].template as<T>());
    return {};
  }

 private:
  Engine engine_;
};

template <class Engine, class T>
std::unique_ptr<HostKernel> narrow_gradient(const KernelRequest& request) {
  auto compute = [engine = std::make_unique<Engine>(request)](Workers& workers, std::span<const float* const> operands, float* result) {
    engine->run(workers, operands, result);
  };
  return std::make_unique<NarrowKernel<T, decltype(compute)>>(std::move(compute));
}

template <template <class> class Engine>
std::unique_ptr<HostKernel> prepare_gradient(const KernelRequest& request) {
  if (!Engine<float>::fits(request)) return plain_kernel(run_reference);
  switch (request.result_types[0].dtype) {
    case DType::f32: return std::make_unique<GradientKernel<Engine<float>, float>>(request);
    case DType::f64: return std::make_unique<GradientKernel<Engine<double>, double>>(request);
    case DType::f16: return narrow_gradient<Engine<float>, Half>(request);
    case DType::bf16: return narrow_gradient<Engine<float>, BFloat16>(request);
    default: return plain_kernel(run_reference);
  }
}

template <template <class> class Engine>
Status prepared_kernel(const KernelCall& call) {
  return prepare_gradient<Engine>(request_of(call))->run(call);
}

template <class T>
using Operands = std::span<const T* const>;

// --- convolutions ------------------------------------------------------------------------------------------------------------------------

/// `Engine` is InputGradient<T> or WeightGradient<T>.
template <class Engine, class T, ops::Convolution (*find)(ops::Types, const Attributes&)>
class OfConvolution {
 public:
  static bool fits(const KernelRequest& request) { return Planes::fit(find(request.input_types, *request.attributes).window); }
  explicit OfConvolution(const KernelRequest& request) : engine_(find(request.input_types, *request.attributes)) {}
  void run(Workers& workers, Operands<T> operands, T* result) { engine_.run(workers, operands[0], operands[1], result); }

 private:
  Engine engine_;
};
template <class T>
using ByInput = OfConvolution<InputGradient<T>, T, ops::convolution_of_input_gradient>;
template <class T>
using ByWeight = OfConvolution<WeightGradient<T>, T, ops::convolution_of_weight_gradient>;

// --- pools -------------------------------------------------------------------------------------------------------------------------------

/// The taps of the windows of a pool that are inside x, by axis.
class PoolWindows {
 public:
  explicit PoolWindows(const ops::Window& window) : window_(window) {
    for (std::size_t a = 0; a < ops::kMostSpatial; ++a)
      for (std::int64_t o = 0; o < window[a].out; ++o) axes_[a].push_back({window[a].first(o), ops::taps_inside(window[a], o, false)});
  }
  struct One {
    std::int64_t first = 0;  ///< the position of the first tap
    ops::Taps taps;
  };
  [[nodiscard]] const ops::Window& window() const { return window_; }
  [[nodiscard]] const One& at(std::size_t axis, std::int64_t o) const { return axes_[axis][static_cast<std::size_t>(o)]; }

  /// Calls `line(place, count, step)` for each line of a window's elements.
  template <class Line>
  void each_line(std::int64_t p, const Line& line) const {
    const ops::WindowAxis &a = window_[0], &b = window_[1], &c = window_[2];
    const One &outer = at(0, p / c.out / b.out), &middle = at(1, p / c.out % b.out), &inner = at(2, p % c.out);
    const std::int64_t from = inner.first + inner.taps.begin * c.dilation;
    for (std::int64_t i = outer.taps.begin; i < outer.taps.end; ++i)
      for (std::int64_t j = middle.taps.begin; j < middle.taps.end; ++j)
        line(((outer.first + i * a.dilation) * b.in + middle.first + j * b.dilation) * c.in + from, inner.taps.count(), c.dilation);
  }

 private:
  ops::Window window_;
  std::array<std::vector<One>, ops::kMostSpatial> axes_;
};

/// Calls `body(channel)` for each channel, on any thread.
template <class Body>
void each_channel(Workers& workers, std::int64_t channels, const ops::Window& window, const Body& body) {
  const std::int64_t work = std::max<std::int64_t>(1, window.ins() + window.outs() * window.taps());
  workers.each_part(channels, std::max<std::int64_t>(1, kPiece / work), [&](std::int64_t channel, std::int64_t end) {
    for (; channel < end; ++channel) body(channel);
  });
}

bool places_fit(const ops::Window& window) {
  return window.ins() <= std::numeric_limits<std::int32_t>::max();
}

/// The place of the largest element of each window, which the reference implementation chooses alike. Windows of small channels have a
/// table of the places of all taps, where one outside is replaced by the nearest inside: that one is seen before or next, so the choice is
/// the same. Other channels are searched line by line, windows that reach over the ends of a line one by one.
template <class T>
class LargestPlaces {
 public:
  explicit LargestPlaces(const ops::Window& window) : windows_(window), code_(convolution_code<T>()) {
    if (window.outs() * window.taps() <= kTable) {
      make_table();
    } else {
      for (std::int64_t q = 0; q < kMostPlaces; ++q) index_.push_back(static_cast<std::int32_t>(q * window[2].stride));
      while (first_whole_ < window[2].out && !whole(first_whole_)) ++first_whole_;
      for (end_whole_ = first_whole_; end_whole_ < window[2].out && whole(end_whole_);) ++end_whole_;
    }
  }
  /// Numbers that `each` needs room for.
  [[nodiscard]] std::int64_t room() const { return rows_.empty() ? 2 * windows_.window().taps() : 0; }

  /// Calls `body(p, place)` for each window with an element.
  template <class Body>
  void each(const T* x, std::int64_t* room, const Body& body) const {
    std::int32_t places[kMostPlaces];
    const ops::Window& window = windows_.window();
    if (window.ins() == 0) return;
    if (!rows_.empty()) {
      look_at_stop();
      for (std::int64_t p = 0; p < window.outs(); p += kMostPlaces)
        find(x, p, std::min(kMostPlaces, window.outs() - p), index_.data() + p, {window.taps(), rows_.data(), bases_.data()}, places, body);
      return;
    }
    StopLooks looks;
    const std::int64_t line = window[2].out;
    std::int64_t* const bases = room + window.taps();
    std::fill(room, bases, 0);
    for (std::int64_t p = 0; p < window.outs(); p += line) {
      for (std::int64_t q = 0; q < first_whole_; ++q) one(looks, x, p + q, body);
      for (std::int64_t q = end_whole_; q < line; ++q) one(looks, x, p + q, body);
      if (first_whole_ == end_whole_) continue;
      std::int64_t taps = 0;
      windows_.each_line(p + first_whole_, [&](std::int64_t at, std::int64_t count, std::int64_t step) {
        for (std::int64_t k = 0; k < count; ++k) bases[taps++] = at + k * step;
      });
      if (taps == 0) continue;
      for (std::int64_t q = first_whole_; q < end_whole_; q += kMostPlaces) {
        const std::int64_t count = std::min(kMostPlaces, end_whole_ - q);
        looks.worked(count * taps / 2);
        find(x, p + q, count, index_.data(), {taps, room, bases}, places, body);
        for (std::int64_t tap = 0; tap < taps; ++tap) bases[tap] += count * window[2].stride;
      }
    }
  }

 private:
  static constexpr std::int64_t kTable = 1 << 14;  ///< places, at most
  struct TapsOf {
    std::int64_t count;
    const std::int64_t *rows, *bases;
  };

  [[nodiscard]] bool whole(std::int64_t q) const { return windows_.at(2, q).taps.count() == windows_.window()[2].kernel; }

  void make_table() {
    const auto& [a, b, c] = static_cast<const std::array<ops::WindowAxis, 3>&>(windows_.window());
    const std::int64_t outs = windows_.window().outs();
    for (std::int64_t p = 0; p < outs; ++p) {
      std::int64_t elements = 0;
      windows_.each_line(p, [&](std::int64_t, std::int64_t count, std::int64_t) { elements += count; });
      if (elements == 0) empty_.push_back(p);
    }
    const auto place = [&](std::size_t axis, std::int64_t o, std::int64_t tap) {
      const PoolWindows::One& one = windows_.at(axis, o);
      return one.taps.count() == 0 ? 0 : one.first + std::clamp(tap, one.taps.begin, one.taps.end - 1) * windows_.window()[axis].dilation;
    };
    for (std::int64_t i = 0; i < a.kernel; ++i) {
      for (std::int64_t j = 0; j < b.kernel; ++j) {
        for (std::int64_t k = 0; k < c.kernel; ++k) {
          rows_.push_back(static_cast<std::int64_t>(index_.size()));
          for (std::int64_t p = 0; p < outs; ++p)
            index_.push_back(static_cast<std::int32_t>((place(0, p / c.out / b.out, i) * b.in + place(1, p / c.out % b.out, j)) * c.in +
                                                       place(2, p % c.out, k)));
        }
      }
    }
    bases_.assign(rows_.size(), 0);
  }

  template <class Body>
  void find(const T* x, std::int64_t first, std::int64_t count, const std::int32_t* index, const TapsOf& taps, std::int32_t* places,
            const Body& body) const {
    code_.largest_places({count, taps.count, x, index, taps.rows, taps.bases, places});
    if (empty_.empty()) {
      for (std::int64_t p = 0; p < count; ++p) body(first + p, places[p]);
      return;
    }
    auto empty = std::lower_bound(empty_.begin(), empty_.end(), first);
    for (std::int64_t p = 0; p < count; ++p) {
      if (empty != empty_.end() && *empty == first + p) {
        ++empty;
      } else {
        body(first + p, places[p]);
      }
    }
  }

  template <class Body>
  void one(StopLooks& looks, const T* x, std::int64_t p, const Body& body) const {
    std::int64_t place = -1;
    T most = 0;
    windows_.each_line(p, [&](std::int64_t at, std::int64_t count, std::int64_t step) {
      looks.worked(count + 4);
      for (const std::int64_t end = at + count * step; at < end; at += step) {
        const T element = x[at];
        const bool larger = place < 0 || element > most || element != element;
        most = larger ? element : most;
        place = larger ? at : place;
      }
    });
    if (place >= 0) body(p, place);
  }

  const PoolWindows windows_;
  const ConvolutionCode<T>& code_;
  std::vector<std::int32_t> index_;               ///< places by tap and window, or by window alone, from that of the first one
  std::vector<std::int64_t> rows_, bases_;        ///< of the table, by tap; none: there is none
  std::vector<std::int64_t> empty_;               ///< windows of the table without an element
  std::int64_t first_whole_ = 0, end_whole_ = 0;  ///< windows of a line that lie inside it
};

/// max_pool_gradient, and max_pool_gather where `gathers`.
template <class T, bool gathers>
class OfLargest {
 public:
  static bool fits(const KernelRequest& request) { return places_fit(ops::pool_window(request.input_types[0], *request.attributes)); }
  explicit OfLargest(const KernelRequest& request)
      : window_(ops::pool_window(request.input_types[0], *request.attributes)),
        squares_(!gathers && are_squares(window_)),
        places_(window_),
        channels_(request.input_types[0].shape[0] * request.input_types[0].shape[1]) {}

  void run(Workers& workers, Operands<T> operands, T* result) {
    const std::int64_t ins = window_.ins(), outs = window_.outs();
    rooms_.reserve(workers.threads(), places_.room() + 1);
    each_channel(workers, channels_, window_, [&](std::int64_t channel) {
      const Scratch<std::int64_t>::Part room(rooms_);
      const T* x = operands[0] + channel * ins;
      if constexpr (gathers) {
        const T* values = operands[1] + channel * ins;
        T* to = result + channel * outs;
        fill_long(to, outs, T(0));
        places_.each(x, room.data(), [&](std::int64_t p, std::int64_t place) { to[p] = values[place]; });
      } else {
        const T* g = operands[1] + channel * outs;
        T* to = result + channel * ins;
        if (squares_) return spread(x, g, to);
        fill_long(to, ins, T(0));
        places_.each(x, room.data(), [&](std::int64_t p, std::int64_t place) { to[place] += g[p]; });
      }
    });
  }

 private:
  void spread(const T* x, const T* g, T* to) const {
    const std::int64_t line = window_[2].out;
    each_long(
        window_[1].out,
        [&](std::int64_t begin, std::int64_t end) {
          convolution_code<T>().spread_to_squares(end - begin, line, x + 4 * begin * line, g + begin * line, to + 4 * begin * line);
        },
        std::max<std::int64_t>(1, kSquares / std::max<std::int64_t>(1, line)));
  }

  const ops::Window window_;
  const bool squares_;
  const LargestPlaces<T> places_;
  const std::int64_t channels_;
  Scratch<std::int64_t> rooms_;
};
template <class T>
using MaxPoolGradient = OfLargest<T, false>;
template <class T>
using MaxPoolGather = OfLargest<T, true>;

template <class T>
class AvgPoolGradient {
 public:
  static bool fits(const KernelRequest&) { return true; }
  explicit AvgPoolGradient(const KernelRequest& request)
      : window_(ops::pool_window(request.result_types[0], *request.attributes)),
        padding_(request.attributes->get<bool>("count_include_pad")),
        channels_(request.result_types[0].shape[0] * request.result_types[0].shape[1]) {
    const ops::WindowAxis& axis = window_[2];
    for (std::int64_t q = 0; q < axis.out; ++q) counts_.push_back(static_cast<T>(ops::taps_inside(axis, q, padding_).count()));
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      const std::int64_t at = k * axis.dilation - axis.before;  // of window 0
      const auto first = [&](std::int64_t place) {
        return std::clamp<std::int64_t>(place > at ? (place - at + axis.stride - 1) / axis.stride : 0, 0, axis.out);
      };
      taps_.push_back({at, first(0), first(axis.in)});
    }
  }

  void run(Workers& workers, Operands<T> operands, T* result) const {
    each_channel(workers, channels_, window_, [&](std::int64_t channel) {
      T* to = result + channel * window_.ins();
      fill_long(to, window_.ins(), T(0));
      const T* g = operands[0] + channel * window_.outs();
      for (std::int64_t o = 0; o < window_[0].out; ++o)
        for (std::int64_t p = 0; p < window_[1].out; ++p, g += window_[2].out) spread(o, p, g, to);
    });
  }

 private:
  static constexpr std::int64_t kTogether = 256;
  struct Tap {
    std::int64_t at = 0, first = 0, end = 0;  ///< its position in window 0, and the windows of which it is inside
  };

  /// Adds the shares of a line of windows to the elements of each tap.
  void spread(std::int64_t o, std::int64_t p, const T* g, T* to) const {
    const auto& [a, b, c] = static_cast<const std::array<ops::WindowAxis, 3>&>(window_);
    const ops::Taps outer = ops::taps_inside(a, o, false), middle = ops::taps_inside(b, p, false);
    const auto lines = static_cast<T>(ops::taps_inside(a, o, padding_).count() * ops::taps_inside(b, p, padding_).count());
    T shares[kTogether];
    StopLooks looks;
    for (std::int64_t begin = 0; begin < c.out; begin += kTogether) {
      const std::int64_t count = std::min(kTogether, c.out - begin);
      for (std::int64_t q = 0; q < count; ++q) shares[q] = g[begin + q] * (T(1) / (lines * counts_[static_cast<std::size_t>(begin + q)]));
      for (std::int64_t i = outer.begin; i < outer.end; ++i) {
        for (std::int64_t j = middle.begin; j < middle.end; ++j) {
          T* line = to + ((a.first(o) + i * a.dilation) * b.in + b.first(p) + j * b.dilation) * c.in;
          for (const Tap& tap : taps_) {
            looks.worked(count / 4 + 1);
            const std::int64_t end = std::min(tap.end, begin + count);
            for (std::int64_t q = std::max(tap.first, begin); q < end; ++q) line[q * c.stride + tap.at] += shares[q - begin];
          }
        }
      }
    }
  }

  const ops::Window window_;
  const bool padding_;
  const std::int64_t channels_;
  std::vector<T> counts_;  ///< of taps along the last axis, by window
  std::vector<Tap> taps_;  ///< along the last axis
};

}  // namespace

constexpr KernelRow rows::conv_input_gradient{prepared_kernel<ByInput>, prepare_gradient<ByInput>};
constexpr KernelRow rows::conv_weight_gradient{prepared_kernel<ByWeight>, prepare_gradient<ByWeight>};
constexpr KernelRow rows::max_pool_gradient{prepared_kernel<MaxPoolGradient>, prepare_gradient<MaxPoolGradient>};
constexpr KernelRow rows::max_pool_gather{prepared_kernel<MaxPoolGather>, prepare_gradient<MaxPoolGather>};
constexpr KernelRow rows::avg_pool_gradient{prepared_kernel<AvgPoolGradient>, prepare_gradient<AvgPoolGradient>};

}  // namespace cleave::runtime::host
