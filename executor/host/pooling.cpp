// max_pool and avg_pool: one channel at a time, from planes in which the elements that all windows see through one tap are contiguous.
#include <bit>
#include <limits>

#include "executor/host/convolution/planes.h"
#include "executor/host/kernels.h"
#include "executor/host/long_copy.h"
#include "executor/host/scratch.h"
#include "graph/base/stop.h"
#include "graph/ops/pooling.h"

namespace cleave::runtime::host {
namespace {

constexpr std::int64_t kPiece = 1 << 16;    ///< least elements of one piece of the work
constexpr std::int64_t kSquares = 1 << 20;  ///< results between two looks at the stop sign

/// A power of two that scales the elements of a window before they are summed, so that no sum exceeds the largest element. It changes bits
/// only where scaled elements are subnormal. Sums of f64 overflow as those of `mean` do.
template <class T>
T share_of_tap(std::size_t taps) {
  return std::is_same_v<T, float> ? T(1) / static_cast<T>(std::bit_ceil(taps)) : T(1);
}

/// For each window, the factor from its sum, scaled by `share`, to the mean of its elements.
template <class T>
std::vector<T> shares(const ops::Window& window, bool padding, T share) {
  std::vector<T> all;
  for (std::int64_t p = 0; p < window.outs(); ++p) {
    const std::int64_t row = p / window[2].out;
    const std::int64_t places[] = {row / window[1].out, row % window[1].out, p % window[2].out};
    double count = 1;
    for (std::size_t a = 0; a < ops::kMostSpatial; ++a)
      count *= static_cast<double>(ops::taps_inside(window[a], places[a], padding).count());
    all.push_back(static_cast<T>(1 / (count * static_cast<double>(share))));
  }
  return all;
}

template <class T>
class PoolKernel final : public HostKernel {
 public:
  PoolKernel(const KernelRequest& request, bool means)
      : window_(ops::pool_window(request.input_types[0], *request.attributes)),
        planes_(window_),
        code_(convolution_code<T>()),
        channels_(request.input_types[0].shape[0] * request.input_types[0].shape[1]) {
    squares_ = !means && are_squares(window_);
    if (!means || channels_ == 0) return;
    const T share = share_of_tap<T>(planes_.taps().size());
    weights_.assign(planes_.taps().size(), share);
    shares_ = shares<T>(window_, request.attributes->get<bool>("count_include_pad"), share);
  }

  Status run(const KernelCall& call) override {
    const std::int64_t outs = window_.outs();
    if (channels_ == 0 || outs == 0) return {};
    // The planes' lines are longer than the results' lines by their padding; `count` covers the last result, rounded up to whole vectors.
    const std::int64_t count = (planes_.place(outs - 1) + code_.width) / code_.width * code_.width;
    scratch_.reserve(call.workers.threads(), std::max(planes_.size() + count + 2 * code_.width, squares_ ? window_.ins() : 0));
    const T* x = call.inputs[0].template as<T>();
    T* y = call.results[0].template as<T>();
    const auto taps = static_cast<std::int64_t>(planes_.taps().size());
    const std::int64_t together = std::max<std::int64_t>(1, kPiece / (planes_.size() + count * taps / 4));
    call.workers.each_part(channels_, together, [&](std::int64_t channel, std::int64_t end) {
      const typename Scratch<T>::Part room(scratch_);
      for (; channel < end; ++channel) pool(x, channel, count, room.data(), y + channel * outs);
    });
    return {};
  }

 private:
  void pool(const T* x, std::int64_t channel, std::int64_t count, T* planes, T* y) const {
    const std::int64_t outs = window_.outs(), lines = window_[1].out, line = window_[2].out;
    if (squares_) {
      const T* from = x + channel * window_.ins();
      return each_long(
          outs / line,
          [&](std::int64_t begin, std::int64_t end) {
            code_.largest_of_squares(end - begin, line, from + 4 * begin * line, planes, y + begin * line);
          },
          std::max<std::int64_t>(1, kSquares / line));
    }
    const auto taps = static_cast<std::int64_t>(planes_.taps().size());
    T* results = planes + planes_.size() + code_.width;
    planes_.fill(code_, x + channel * window_.ins(), x + channels_ * window_.ins(),
                 weights_.empty() ? -std::numeric_limits<T>::infinity() : T(0), planes);
    each_long(
        count,
        [&](std::int64_t begin, std::int64_t end) {
          if (weights_.empty()) {
            code_.largest(end - begin, taps, planes + begin, planes_.taps().data(), results + begin);
          } else {
            code_.slide(end - begin, taps, planes + begin, planes_.taps().data(), weights_.data(), T(0), results + begin);
          }
        },
        slid_together(taps));
    for (std::int64_t p = 0; p < outs; p += lines * line)
      code_.gather(lines, line, results + planes_.place(p), planes_.line_stride(), y + p);
    if (!shares_.empty()) code_.scale(outs, shares_.data(), y);
  }

  const ops::Window window_;
  const Planes planes_;
  const ConvolutionCode<T>& code_;
  const std::int64_t channels_;
  bool squares_ = false;
  std::vector<T> weights_, shares_;  ///< of means: one weight for each tap, one factor for each window
  Scratch<T> scratch_;
};

template <bool means>
std::unique_ptr<HostKernel> prepare_pool(const KernelRequest& request) {
  if (Planes::fit(ops::pool_window(request.input_types[0], *request.attributes))) {
    if (request.result_types[0].dtype == DType::f32) return std::make_unique<PoolKernel<float>>(request, means);
    if (request.result_types[0].dtype == DType::f64) return std::make_unique<PoolKernel<double>>(request, means);
  }
  return plain_kernel(run_reference);
}

template <bool means>
Status pool_kernel(const KernelCall& call) {
  KernelRequest request{{}, &call.op, &call.attributes, {*call.inputs[0].type}, {*call.results[0].type}, {}, {}, {}, {}};
  return prepare_pool<means>(request)->run(call);
}

}  // namespace

constexpr KernelRow rows::avg_pool{pool_kernel<true>, prepare_pool<true>};
constexpr KernelRow rows::max_pool{pool_kernel<false>, prepare_pool<false>};

}  // namespace cleave::runtime::host
