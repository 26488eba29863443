// Gradients of convolutions by their engines, and of pools one channel at a time.
#include <array>
#include <cmath>
#include <vector>

#include "executor/host/convolution/gradients.h"
#include "executor/host/kernels.h"
#include "executor/host/long_copy.h"
#include "executor/host/narrow.h"
#include "graph/base/stop.h"
#include "graph/ops/window_gradients.h"

namespace cleave::runtime::host {
namespace {

constexpr std::int64_t kPiece = 1 << 14;  ///< least elements of windows in one piece of the work

KernelRequest request_of(const KernelCall& call) {
  KernelRequest request{{}, &call.op, &call.attributes, {}, {}, {}, {}, {}, {}};
  for (const TensorView& input : call.inputs) request.input_types.push_back(*input.type);
  for (const TensorView& result : call.results) request.result_types.push_back(*result.type);
  return request;
}

// --- convolutions ------------------------------------------------------------------------------------------------------------------------

/// `Engine` is InputGradient<T> or WeightGradient<T>.
template <class Engine, class T>
class ConvolutionGradientKernel final : public HostKernel {
 public:
  explicit ConvolutionGradientKernel(const ops::Convolution& conv) : engine_(conv) {}
  Status run(const KernelCall& call) override {
    engine_.run(call.workers, call.inputs[0].template as<T>(), call.inputs[1].template as<T>(), call.results[0].template as<T>());
    return {};
  }

 private:
  Engine engine_;
};

template <class Engine, class T>
std::unique_ptr<HostKernel> narrow_gradient(const ops::Convolution& conv) {
  auto compute = [engine = std::make_unique<Engine>(conv)](Workers& workers, std::span<const float* const> operands, float* result) {
    engine->run(workers, operands[0], operands[1], result);
  };
  return std::make_unique<NarrowKernel<T, decltype(compute)>>(std::move(compute));
}

template <template <class> class Engine, ops::Convolution (*find)(ops::Types, const Attributes&)>
std::unique_ptr<HostKernel> prepare_convolution_gradient(const KernelRequest& request) {
  const ops::Convolution conv = find(request.input_types, *request.attributes);
  if (!Planes::fit(conv.window)) return plain_kernel(run_reference);
  switch (request.result_types[0].dtype) {
    case DType::f32: return std::make_unique<ConvolutionGradientKernel<Engine<float>, float>>(conv);
    case DType::f64: return std::make_unique<ConvolutionGradientKernel<Engine<double>, double>>(conv);
    case DType::f16: return narrow_gradient<Engine<float>, Half>(conv);
    case DType::bf16: return narrow_gradient<Engine<float>, BFloat16>(conv);
    default: return plain_kernel(run_reference);
  }
}

template <std::unique_ptr<HostKernel> (*prepare)(const KernelRequest&)>
Status prepared_kernel(const KernelCall& call) {
  return prepare(request_of(call))->run(call);
}

// --- pools -------------------------------------------------------------------------------------------------------------------------------

/// The windows of a pool, by axis and window: the position of the first tap, and the taps that are inside x.
class PoolWindows {
 public:
  explicit PoolWindows(const ops::Window& window) : window_(window) {
    for (std::size_t a = 0; a < ops::kMostSpatial; ++a)
      for (std::int64_t o = 0; o < window[a].out; ++o) axes_[a].push_back({window[a].first(o), ops::taps_inside(window[a], o, false)});
  }
  [[nodiscard]] const ops::Window& window() const { return window_; }

  /// Calls `body(p, places, lines)` for each window: `places(line)` is the offset of the first element of one of its `lines` of `count`
  /// elements, `step` apart.
  template <class Body>
  void each(const Body& body) const {
    const ops::WindowAxis &a = window_[0], &b = window_[1], &c = window_[2];
    StopLooks looks;
    std::int64_t p = 0;
    for (const One& outer : axes_[0]) {
      for (const One& middle : axes_[1]) {
        for (const One& inner : axes_[2]) {
          looks.worked(outer.taps.count() * middle.taps.count() * inner.taps.count() + 4);
          body(p++, [&](const auto& line) {
            const std::int64_t from = inner.first + inner.taps.begin * c.dilation;
            for (std::int64_t i = outer.taps.begin; i < outer.taps.end; ++i)
              for (std::int64_t j = middle.taps.begin; j < middle.taps.end; ++j)
                line(((outer.first + i * a.dilation) * b.in + middle.first + j * b.dilation) * c.in + from, inner.taps.count(), c.dilation);
          });
        }
      }
    }
  }

 private:
  struct One {
    std::int64_t first = 0;
    ops::Taps taps;
  };
  ops::Window window_;
  std::array<std::vector<One>, ops::kMostSpatial> axes_;
};

/// Calls `body(channel)` for each channel, on any thread.
template <class Body>
void each_channel(const KernelCall& call, const TensorType& x, const ops::Window& window, const Body& body) {
  const std::int64_t work = std::max<std::int64_t>(1, window.ins() + window.outs() * window.taps());
  call.workers.each_part(x.shape[0] * x.shape[1], std::max<std::int64_t>(1, kPiece / work), [&](std::int64_t channel, std::int64_t end) {
    for (; channel < end; ++channel) body(channel);
  });
}

/// Calls `body(p, place)` with the place of the largest element of each window, which the reference implementation chooses alike.
template <class T, class Body>
void each_largest(const PoolWindows& windows, const T* x, const Body& body) {
  windows.each([&](std::int64_t p, const auto& lines) {
    std::int64_t place = -1;
    T most = 0;
    lines([&](std::int64_t at, std::int64_t count, std::int64_t step) {
      for (const std::int64_t end = at + count * step; at < end; at += step) {
        const T element = x[at];
        const bool larger = place < 0 || element > most || element != element;
        most = larger ? element : most;
        place = larger ? at : place;
      }
    });
    if (place >= 0) body(p, place);
  });
}

template <class T>
void gradient_of_largest(const KernelCall& call) {
  const PoolWindows windows(ops::pool_window(*call.inputs[0].type, call.attributes));
  const std::int64_t ins = windows.window().ins(), outs = windows.window().outs();
  each_channel(call, *call.inputs[0].type, windows.window(), [&](std::int64_t channel) {
    const T* g = call.inputs[1].as<T>() + channel * outs;
    T* to = call.results[0].as<T>() + channel * ins;
    fill_long(to, ins, T(0));
    each_largest(windows, call.inputs[0].as<T>() + channel * ins, [&](std::int64_t p, std::int64_t place) { to[place] += g[p]; });
  });
}

template <class T>
void gather_at_largest(const KernelCall& call) {
  const PoolWindows windows(ops::pool_window(*call.inputs[0].type, call.attributes));
  const std::int64_t ins = windows.window().ins(), outs = windows.window().outs();
  each_channel(call, *call.inputs[0].type, windows.window(), [&](std::int64_t channel) {
    const T* values = call.inputs[1].as<T>() + channel * ins;
    T* to = call.results[0].as<T>() + channel * outs;
    fill_long(to, outs, T(0));
    each_largest(windows, call.inputs[0].as<T>() + channel * ins, [&](std::int64_t p, std::int64_t place) { to[p] = values[place]; });
  });
}

template <class T>
void gradient_of_means(const KernelCall& call) {
  const PoolWindows windows(ops::pool_window(*call.results[0].type, call.attributes));
  const ops::Window& window = windows.window();
  const bool padding = call.attributes.get<bool>("count_include_pad");
  std::array<std::vector<std::int64_t>, ops::kMostSpatial> counts;
  for (std::size_t a = 0; a < ops::kMostSpatial; ++a)
    for (std::int64_t o = 0; o < window[a].out; ++o) counts[a].push_back(ops::taps_inside(window[a], o, padding).count());
  const std::int64_t ins = window.ins(), outs = window.outs(), line = window[2].out, lines = window[1].out;
  const auto count = [&](std::int64_t p) {
    const auto at = [&](std::size_t axis, std::int64_t o) { return counts[axis][static_cast<std::size_t>(o)]; };
    return at(0, p / line / lines) * at(1, p / line % lines) * at(2, p % line);
  };
  std::vector<T> shares;
  StopLooks looks;
  for (std::int64_t p = 0; p < outs; ++p) {
    looks.worked(4);
    shares.push_back(T(1) / static_cast<T>(count(p)));
  }
  each_channel(call, *call.results[0].type, window, [&](std::int64_t channel) {
    const T* g = call.inputs[0].as<T>() + channel * outs;
    T* to = call.results[0].as<T>() + channel * ins;
    fill_long(to, ins, T(0));
    windows.each([&](std::int64_t p, const auto& each_line) {
      const T share = g[p] * shares[static_cast<std::size_t>(p)];
      each_line([&](std::int64_t at, std::int64_t taps, std::int64_t step) {
        for (const std::int64_t end = at + taps * step; at < end; at += step) to[at] += share;
      });
    });
  });
}

/// f16 and bf16 take the reference implementation, as the pools do.
template <void (*single)(const KernelCall&), void (*wide)(const KernelCall&)>
Status pool_gradient_kernel(const KernelCall& call) {
  const DType dtype = call.results[0].type->dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return run_reference(call);
  if (call.results[0].type->elements() > 0) (dtype == DType::f32 ? single : wide)(call);
  return {};
}

}  // namespace

constexpr auto kPrepareInputGradient = prepare_convolution_gradient<InputGradient, ops::convolution_of_input_gradient>;
constexpr auto kPrepareWeightGradient = prepare_convolution_gradient<WeightGradient, ops::convolution_of_weight_gradient>;
constexpr KernelRow rows::conv_input_gradient{prepared_kernel<kPrepareInputGradient>, kPrepareInputGradient};
constexpr KernelRow rows::conv_weight_gradient{prepared_kernel<kPrepareWeightGradient>, kPrepareWeightGradient};
constexpr KernelRow rows::max_pool_gradient{pool_gradient_kernel<gradient_of_largest<float>, gradient_of_largest<double>>};
constexpr KernelRow rows::max_pool_gather{pool_gradient_kernel<gather_at_largest<float>, gather_at_largest<double>>};
constexpr KernelRow rows::avg_pool_gradient{pool_gradient_kernel<gradient_of_means<float>, gradient_of_means<double>>};

}  // namespace cleave::runtime::host
