#include "executor/host/convolution/gradients.h"

#include <algorithm>
#include <atomic>

#include "executor/host/long_copy.h"
#include "graph/base/stop.h"

namespace cleave::runtime::host {
namespace {

constexpr std::int64_t kColumnBytes = 4 << 20;  ///< bytes of gathered windows that are processed together
constexpr std::int64_t kGatherPiece = 1 << 14;  ///< elements
constexpr std::int64_t kStretch = 512;          ///< elements of a plane that are multiplied at a time
constexpr std::int64_t kLeastRows = 8;          ///< channels and outputs for which a product for each tap pays
constexpr std::int64_t kRowBlock = 64;          ///< channels of a piece
constexpr std::int64_t kLine = 16;              ///< outputs that are stored together

constexpr std::int64_t parts_of(std::int64_t count, std::int64_t part) {
  return (count + part - 1) / part;
}

/// The convolution of the result's gradient that gives the input's, with weights turned round; nothing if the windows have gaps between
/// them or the padding is wider than a window.
std::optional<ops::Convolution> turned(const ops::Convolution& conv) {
  ops::Convolution other = conv;
  std::swap(other.channels, other.outputs);
  for (std::size_t a = 0; a < ops::kMostSpatial; ++a) {
    const ops::WindowAxis& axis = conv.window[a];
    if (axis.stride != 1 || axis.before >= axis.span() || axis.after >= axis.span()) return std::nullopt;
    ops::WindowAxis& back = other.window[a];
    back.in = axis.out;
    back.out = axis.in;
    back.before = axis.span() - 1 - axis.before;
    back.after = axis.span() - 1 - axis.after;
  }
  if (!Planes::fit(other.window) || conv.window.outs() == 0) return std::nullopt;
  return other;
}

MatmulPlan plan_of(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype) {
  MatmulPlan plan;
  plan.dtype = dtype;
  plan.m = m;
  plan.n = n;
  plan.k = k;
  return plan;
}

/// The windows of an axis whose tap `tap` is inside, from `first` on, at the places `place`, `place + stride`, ….
struct SeenWindows {
  std::int64_t first = 0, end = 0, place = 0;
};
SeenWindows windows_of(const ops::WindowAxis& axis, std::int64_t tap) {
  const std::int64_t at = tap * axis.dilation - axis.before;  // of window 0
  const auto past = [&](std::int64_t place) {
    return std::clamp<std::int64_t>(place > at ? (place - at + axis.stride - 1) / axis.stride : 0, 0, axis.out);
  };
  SeenWindows seen{past(0), past(axis.in), 0};
  seen.place = seen.first * axis.stride + at;
  return seen;
}

/// Adds to a channel, for each tap, a line with an element for each window.
template <class T>
void add_to_windows(const ops::Window& window, const T* lines, T* channel) {
  const auto& [a, b, c] = static_cast<const std::array<ops::WindowAxis, 3>&>(window);
  StopLooks looks;
  for (std::int64_t i = 0; i < a.kernel; ++i) {
    for (std::int64_t j = 0; j < b.kernel; ++j) {
      for (std::int64_t k = 0; k < c.kernel; ++k, lines += window.outs()) {
        const SeenWindows outer = windows_of(a, i), middle = windows_of(b, j), inner = windows_of(c, k);
        for (std::int64_t o = outer.first; o < outer.end; ++o) {
          for (std::int64_t p = middle.first; p < middle.end; ++p) {
            const std::int64_t u = outer.place + (o - outer.first) * a.stride, v = middle.place + (p - middle.first) * b.stride;
            const T* from = lines + (o * b.out + p) * c.out;
            T* to = channel + (u * b.in + v) * c.in + inner.place - inner.first * c.stride;
            looks.worked(c.out);
            for (std::int64_t q = inner.first; q < inner.end; ++q) to[q * c.stride] += from[q];
          }
        }
      }
    }
  }
}

}  // namespace

// --- by the input ------------------------------------------------------------------------------------------------------------------------

template <class T>
InputGradient<T>::InputGradient(const ops::Convolution& conv) : conv_(conv) {
  if (const auto other = turned(conv)) {
    turned_.emplace(*other);
    return;
  }
  const std::int64_t each = std::max<std::int64_t>(1, conv.depth() * conv.window.outs() * static_cast<std::int64_t>(sizeof(T)));
  images_ = std::clamp<std::int64_t>(kColumnBytes / each, 1, std::max<std::int64_t>(1, conv.batch));
}

template <class T>
void InputGradient<T>::run(Workers& workers, const T* g, const T* weight, T* x) {
  const std::int64_t size = conv_.batch * conv_.groups * conv_.channels * conv_.window.ins(), outs = conv_.window.outs();
  if (size == 0) return;
  if (conv_.outputs == 0 || outs == 0) return fill_long(x, size, T(0));
  if (turned_) {
    turn(workers, weight);
    return turned_->run(workers, g, room_.data(), nullptr, x, {});
  }
  const std::int64_t depth = conv_.depth();
  room_.reserve(images_ * depth * outs);
  for (std::int64_t image = 0; image < conv_.batch; image += images_) {
    const std::int64_t images = std::min(images_, conv_.batch - image);
    MatmulPlan plan = plan_of(depth, outs, conv_.outputs, DTypeOf<T>::value);
    plan.transpose_a = true;
    plan.batch = images;
    plan.stride_b = conv_.groups * conv_.outputs * outs;
    plan.stride_c = depth * outs;
    Product<T>& product = products_.try_emplace(images, plan).first->second;
    for (std::int64_t group = 0; group < conv_.groups; ++group) {
      product.run(workers, weight + group * conv_.outputs * depth, g + (image * conv_.groups + group) * conv_.outputs * outs, room_.data(),
                  nullptr);
      add_columns(workers, image, images, group, x);
    }
  }
}

/// Weights [group, output, channel, tap] as [group, channel, output, tap], with the taps in reverse order.
template <class T>
void InputGradient<T>::turn(Workers& workers, const T* weight) {
  const std::int64_t taps = conv_.window.taps(), channels = conv_.channels, outputs = conv_.outputs;
  room_.reserve(conv_.groups * outputs * channels * taps);
  workers.each_part(conv_.groups * channels, std::max<std::int64_t>(1, kGatherPiece / (outputs * taps)),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (; begin < end; ++begin) {
                        const T* from = weight + (begin / channels * outputs * channels + begin % channels) * taps;
                        T* to = room_.data() + begin * outputs * taps;
                        for (std::int64_t o = 0; o < outputs; ++o, to += taps)
                          std::reverse_copy(from + o * channels * taps, from + o * channels * taps + taps, to);
                      }
                    });
}

template <class T>
void InputGradient<T>::add_columns(Workers& workers, std::int64_t image, std::int64_t images, std::int64_t group, T* x) const {
  const std::int64_t ins = conv_.window.ins(), lines = conv_.window.taps() * conv_.window.outs();
  workers.each_part(images * conv_.channels, std::max<std::int64_t>(1, kGatherPiece / (ins + lines)),
                    [&](std::int64_t i, std::int64_t end) {
                      for (; i < end; ++i) {
                        const std::int64_t of = i / conv_.channels, c = i % conv_.channels;
                        T* channel = x + (((image + of) * conv_.groups + group) * conv_.channels + c) * ins;
                        fill_long(channel, ins, T(0));
                        add_to_windows(conv_.window, room_.data() + i * lines, channel);
                      }
                    });
}

// --- by the weights ----------------------------------------------------------------------------------------------------------------------

template <class T>
WeightGradient<T>::WeightGradient(const ops::Convolution& conv)
    : conv_(conv), code_(convolution_code<T>()), planes_(conv.window), product_(product_code<T>()) {
  cut_stretches();
  const std::int64_t each = std::max<std::int64_t>(1, conv.window.taps() * conv.window.outs() * static_cast<std::int64_t>(sizeof(T)));
  channels_ = std::clamp<std::int64_t>(kColumnBytes / each, 1, std::max<std::int64_t>(1, conv.channels));
  images_ = std::clamp<std::int64_t>(kColumnBytes / (each * channels_), 1, std::max<std::int64_t>(1, conv.batch));
}

template <class T>
void WeightGradient<T>::run(Workers& workers, const T* x, const T* g, T* weight) {
  const std::int64_t size = conv_.groups * conv_.outputs * conv_.depth(), outs = conv_.window.outs();
  if (size == 0) return;
  if (!stretches_.empty() && all_finite(workers, x)) return by_taps(workers, x, g, weight);
  fill_long(weight, size, T(0));
  if (conv_.batch == 0 || outs == 0) return;
  const std::int64_t columns = images_ * outs;
  columns_.reserve(channels_ * conv_.window.taps() * columns);
  results_.reserve(images_ > 1 ? conv_.outputs * columns : 0);
  sums_.reserve(conv_.outputs * channels_ * conv_.window.taps());
  plane_rooms_.reserve(workers.threads(), planes_.size() + 2 * code_.width);
  const T* end = x + conv_.batch * conv_.groups * conv_.channels * conv_.window.ins();
  for (std::int64_t image = 0; image < conv_.batch; image += images_) {
    for (std::int64_t group = 0; group < conv_.groups; ++group) {
      Part part{image, std::min(images_, conv_.batch - image), group, 0, 0};
      const T* rows = results(workers, part, g);
      for (; part.channel < conv_.channels; part.channel += channels_) {
        part.channels = std::min(channels_, conv_.channels - part.channel);
        gather(workers, part, x, end);
        multiply(workers, part, rows, weight);
      }
    }
  }
}

/// Fills `columns_`: for each channel and tap a line with the elements that all windows of all images see through it.
template <class T>
void WeightGradient<T>::gather(Workers& workers, const Part& part, const T* x, const T* end) {
  const std::int64_t ins = conv_.window.ins(), outs = conv_.window.outs(), taps = conv_.window.taps();
  const std::int64_t lines = conv_.window[1].out, line = conv_.window[2].out;
  const std::int64_t together = std::max<std::int64_t>(1, kGatherPiece / (planes_.size() + taps * outs));
  workers.each_part(part.images * part.channels, together, [&](std::int64_t i, std::int64_t last) {
    const typename Scratch<T>::Part room(plane_rooms_);
    for (; i < last; ++i) {
      const std::int64_t image = i % part.images, c = i / part.images;
      const std::int64_t channel = ((part.image + image) * conv_.groups + part.group) * conv_.channels + part.channel + c;
      planes_.fill(code_, x + channel * ins, end, T(0), room.data());
      T* to = columns_.data() + (c * taps * part.images + image) * outs;
      for (const std::int64_t tap : planes_.taps()) {
        for (std::int64_t p = 0; p < outs; p += lines * line)
          code_.gather(lines, line, room.data() + tap + planes_.place(p), planes_.line_stride(), to + p);
        to += part.images * outs;
        look_at_stop();
      }
    }
  });
}

/// The group's gradients of the result as rows, an element for each window of all images.
template <class T>
const T* WeightGradient<T>::results(Workers& workers, const Part& part, const T* g) {
  const std::int64_t outs = conv_.window.outs(), images = part.images;
  const auto from = [&](std::int64_t image, std::int64_t output) {
    return g + (((part.image + image) * conv_.groups + part.group) * conv_.outputs + output) * outs;
  };
  if (images == 1) return from(0, 0);
  workers.each_part(conv_.outputs * images, std::max<std::int64_t>(1, kGatherPiece / outs), [&](std::int64_t i, std::int64_t end) {
    for (; i < end; ++i) std::copy_n(from(i % images, i / images), outs, results_.data() + i * outs);
  });
  return results_.data();
}

/// Adds the product of the rows and the gathered windows to the weights' gradient.
template <class T>
void WeightGradient<T>::multiply(Workers& workers, const Part& part, const T* rows, T* weight) {
  const std::int64_t taps = conv_.window.taps(), width = part.channels * taps, depth = conv_.depth();
  MatmulPlan plan = plan_of(conv_.outputs, width, part.images * conv_.window.outs(), DTypeOf<T>::value);
  plan.transpose_b = true;
  Product<T>& product = products_.try_emplace(std::pair(part.images, part.channels), plan).first->second;
  product.run(workers, rows, columns_.data(), sums_.data(), nullptr);
  workers.each_part(conv_.outputs, std::max<std::int64_t>(1, kGatherPiece / width), [&](std::int64_t output, std::int64_t end) {
    for (; output < end; ++output) {
      T* to = weight + (part.group * conv_.outputs + output) * depth + part.channel * taps;
      const T* from = sums_.data() + output * width;
      for (std::int64_t i = 0; i < width; ++i) to[i] += from[i];
    }
  });
}

// The way by taps: what all windows see through a tap lies in the planes at a fixed distance from what they see through the first one, but
// for gaps between their lines. The gradients of the result, with zeros in these gaps, are packed once for all taps. A zero times an
// element that is not finite would be NaN: then the windows are gathered.

template <class T>
void WeightGradient<T>::cut_stretches() {
  const std::int64_t outs = conv_.window.outs(), line = conv_.window[2].out;
  if (conv_.batch == 0 || outs == 0 || conv_.channels < kLeastRows || conv_.outputs < kLeastRows) return;
  if (2 * (planes_.place(outs - 1) + 1) > 3 * outs) return;
  const std::int64_t lines = conv_.window[1].out, together = std::max<std::int64_t>(1, kStretch / planes_.line_stride());
  for (std::int64_t plane = 0; plane < conv_.window[0].out; ++plane) {
    for (std::int64_t l = 0; l < lines; l += together) {
      const std::int64_t count = std::min(together, lines - l), first = (plane * lines + l) * line, place = planes_.place(first);
      const std::int64_t length = planes_.place(first + count * line - 1) + 1 - place;
      stretches_.push_back({first, count, place, length});
      longest_ = std::max(longest_, count * planes_.line_stride());
      packed_ += length * packed_columns(conv_.outputs, product_.width);
    }
  }
  packed_ += product_.width;
  const std::int64_t each = ((planes_.as_it_lies() ? 0 : conv_.channels * planes_.size()) + packed_) * static_cast<std::int64_t>(sizeof(T));
  together_ = std::clamp<std::int64_t>(kColumnBytes / each, 1, conv_.batch);
}

template <class T>
bool WeightGradient<T>::all_finite(Workers& workers, const T* x) const {
  std::atomic<bool> finite{true};
  workers.each_part(conv_.batch * conv_.groups * conv_.channels * conv_.window.ins(), kGatherPiece, [&](std::int64_t i, std::int64_t end) {
    int wrong = 0;
    for (; i < end; ++i) wrong |= static_cast<int>(x[i] - x[i] != T(0));  // inf - inf and NaN - NaN are NaN
    if (wrong != 0) finite.store(false, std::memory_order_relaxed);
  });
  return finite.load(std::memory_order_relaxed);
}

template <class T>
void WeightGradient<T>::by_taps(Workers& workers, const T* x, const T* g, T* weight) {
  const std::int64_t taps = conv_.window.taps(), blocks = parts_of(conv_.channels, kRowBlock), outputs = conv_.outputs;
  const std::int64_t ins = conv_.window.ins(), size = planes_.size();
  columns_.reserve(planes_.as_it_lies() ? 0 : together_ * conv_.channels * size + code_.width);
  results_.reserve(together_ * packed_);
  sums_.reserve(taps * conv_.channels * outputs);
  plane_rooms_.reserve(workers.threads(), std::max(planes_.size() + 2 * code_.width, outputs * longest_ + product_.width));
  const T* end = x + conv_.batch * conv_.groups * conv_.channels * ins;
  for (std::int64_t group = 0; group < conv_.groups; ++group) {
    for (std::int64_t image = 0; image < conv_.batch; image += together_) {
      const Part part{image, std::min(together_, conv_.batch - image), group, 0, conv_.channels};
      if (!planes_.as_it_lies()) {
        workers.each_part(part.images * conv_.channels, std::max<std::int64_t>(1, kGatherPiece / size),
                          [&](std::int64_t i, std::int64_t last) {
                            for (; i < last; ++i) {
                              const std::int64_t of = image + i / conv_.channels, c = i % conv_.channels;
                              const T* channel = x + ((of * conv_.groups + group) * conv_.channels + c) * ins;
                              planes_.fill(code_, channel, end, T(0), columns_.data() + i * size);
                            }
                          });
      }
      pack(workers, part, g);
      workers.each(taps * blocks, [&](std::int64_t piece) {
        Part rows = part;
        rows.channel = piece % blocks * kRowBlock;
        rows.channels = std::min(kRowBlock, conv_.channels - rows.channel);
        add_tap(rows, x, piece / blocks, image > 0);
      });
    }
    T* to = weight + group * outputs * conv_.depth();
    workers.each(parts_of(outputs, kLine), [&](std::int64_t piece) {
      const std::int64_t first = piece * kLine, last = std::min(outputs, first + kLine);
      StopLooks looks;
      for (std::int64_t c = 0; c < conv_.channels; ++c) {
        looks.worked(taps * kLine);
        for (std::int64_t tap = 0; tap < taps; ++tap)
          for (std::int64_t o = first; o < last; ++o)
            to[(o * conv_.channels + c) * taps + tap] = sums_.data()[(tap * conv_.channels + c) * outputs + o];
      }
    });
  }
}

/// Packs a group's gradients of the result, stretch by stretch, as the right operands of products.
template <class T>
void WeightGradient<T>::pack(Workers& workers, const Part& part, const T* g) {
  const std::int64_t outs = conv_.window.outs(), outputs = conv_.outputs, line = conv_.window[2].out, step = planes_.line_stride();
  const T* all = g + conv_.batch * conv_.groups * outputs * outs;
  workers.each_part(part.images, std::max<std::int64_t>(1, kGatherPiece / packed_), [&](std::int64_t i, std::int64_t end) {
    const typename Scratch<T>::Part room(plane_rooms_);
    for (; i < end; ++i) {
      const T* from = g + ((part.image + i) * conv_.groups + part.group) * outputs * outs;
      T* to = results_.data() + i * packed_;
      for (const Stretch& stretch : stretches_) {
        look_at_stop();
        T* laid = room.data();
        for (std::int64_t o = 0; o < outputs; ++o, laid += stretch.lines * step) {
          const T* windows = from + o * outs + stretch.window;
          code_.lines({stretch.lines, 0, stretch.lines, step, 0, line, windows, line, 1, all - windows, T(0), laid});
        }
        product_.pack_b({room.data(), 1, stretch.lines * step}, outputs, stretch.length, to);
        to += stretch.length * packed_columns(outputs, product_.width);
      }
    }
  });
}

/// The products of some channels with all outputs, for one tap and all images.
template <class T>
void WeightGradient<T>::add_tap(const Part& part, const T* x, std::int64_t tap, bool add) {
  const std::int64_t outputs = conv_.outputs, size = planes_.size();
  const std::int64_t offset = planes_.taps()[static_cast<std::size_t>(tap)];
  const Matrix<T> to{sums_.data() + (tap * conv_.channels + part.channel) * outputs, outputs, 1};
  for (std::int64_t i = 0; i < part.images; ++i) {
    const T* channels = planes_.as_it_lies() ? x + ((part.image + i) * conv_.groups + part.group) * conv_.channels * size
                                             : columns_.data() + i * conv_.channels * size;
    const T* packed = results_.data() + i * packed_;
    for (const Stretch& stretch : stretches_) {
      look_at_stop();
      const Matrix<const T> from{channels + part.channel * size + offset + stretch.place, size, 1};
      product_.block({part.channels, outputs, stretch.length, from, false, {packed, 0, 1}, true, to, add, nullptr});
      packed += stretch.length * packed_columns(outputs, product_.width);
      add = true;
    }
  }
}

template class InputGradient<float>;
template class InputGradient<double>;
template class WeightGradient<float>;
template class WeightGradient<double>;

}  // namespace cleave::runtime::host
