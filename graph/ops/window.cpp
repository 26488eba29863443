#include "graph/ops/window.h"

#include <string>

namespace cleave::ops {
namespace {

std::string plural(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Reads attributes that have one number for each axis, or a single number for all axes.
class WindowReader {
 public:
  WindowReader(std::string_view op, Types inputs, const Attributes& attributes, std::size_t axes)
      : op_(op), inputs_(inputs), attributes_(attributes), axes_(axes) {}

  std::optional<TypeError> error;

  void fail(const std::string& reason, DiagnosticKind kind = DiagnosticKind::value) {
    if (!error) error = refuse(kind, op_, inputs_, reason);
  }

  Integers each(const std::string& name, std::int64_t least) {
    Integers numbers = attributes_.get_or<Integers>(name, {1});
    if (numbers.size() == 1) numbers.resize(axes_, numbers[0]);
    if (numbers.size() != axes_)
      fail("`" + name + "` has " + plural(numbers.size(), "number") + " for " + spatial_axes() + "; give one, or one an axis");
    check(name, numbers, least);
    numbers.resize(axes_, 1);
    return numbers;
  }

  /// The padding before each axis, then the padding behind each.
  Integers pads() {
    Integers numbers = attributes_.get_or<Integers>("pads", {0});
    if (numbers.size() == 1) numbers.resize(axes_, numbers[0]);
    check("pads", numbers, 0);
    if (numbers.size() == axes_) {
      numbers.insert(numbers.end(), numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(axes_));
    } else if (numbers.size() != 2 * axes_) {
      fail("`pads` has " + plural(numbers.size(), "number") + " for " + spatial_axes() +
           "; give one, one an axis, or all before and then all behind");
    }
    numbers.resize(2 * axes_, 0);
    return numbers;
  }

 private:
  void check(const std::string& name, const Integers& numbers, std::int64_t least) {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;  // so that sums and products of a few such numbers do not overflow
    for (const std::int64_t number : numbers) {
      if (number < least) fail("`" + name + "` must be " + (least == 0 ? "0 or more" : "positive") + ", not " + std::to_string(number));
      if (number > kMost) fail("`" + name + "` of " + std::to_string(number) + " is too large");
    }
  }

  [[nodiscard]] std::string spatial_axes() const { return axes_ == 1 ? "one spatial axis" : std::to_string(axes_) + " spatial axes"; }

  std::string_view op_;
  Types inputs_;
  const Attributes& attributes_;
  std::size_t axes_;
};

/// Pads for `ceil(in / stride)` windows. The padding is distributed to both ends; an odd element goes behind (or before, if `odd_before`).
void pad_to_same(WindowAxis& axis, bool odd_before) {
  axis.out = (axis.in + axis.stride - 1) / axis.stride;
  const std::int64_t pads = std::max<std::int64_t>(0, (axis.out - 1) * axis.stride + axis.span() - axis.in);
  axis.before = odd_before ? (pads + 1) / 2 : pads / 2;
  axis.after = pads - axis.before;
}

void count_windows(WindowAxis& axis, const Pooling* pooling) {
  const std::int64_t room = axis.in + axis.before + axis.after - axis.span();
  axis.out = room < 0 ? 0 : room / axis.stride + 1;
  if (!pooling || !pooling->rounds_up || room % axis.stride == 0 || room <= -axis.stride) return;
  if (axis.out * axis.stride < axis.in + axis.before) ++axis.out;  // otherwise the additional window would begin in the padding behind
}

}  // namespace

bool Window::reaches_far() const {
  constexpr std::int64_t kFar = std::int64_t{1} << 28;
  return std::any_of(begin(), end(), [](const WindowAxis& axis) {
    return std::max({axis.span(), axis.before, axis.after, axis.stride}) > kFar;
  });
}

std::variant<Window, TypeError> find_window(std::string_view op, Types inputs, const Attributes& attributes,
                                            std::span<const std::int64_t> extents, std::span<const std::int64_t> kernel,
                                            const Pooling* pooling) {
  const std::size_t axes = extents.size();
  WindowReader reader(op, inputs, attributes, axes);
  const Integers strides = reader.each("strides", 1), dilations = reader.each("dilations", 1), pads = reader.pads();
  const auto automatic = attributes.get_or<std::string>("auto_pad", "notset");
  const bool same = automatic == "same_upper" || automatic == "same_lower";
  if (!same && automatic != "notset" && automatic != "valid")
    reader.fail("`auto_pad` must be notset, valid, same_upper or same_lower, not " + automatic);
  if (automatic != "notset" && std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; }))
    reader.fail("`pads` and `auto_pad` are both given; leave one out");
  Window window;
  for (std::size_t i = 0; i < axes && !reader.error; ++i) {
    WindowAxis& axis = window[kMostSpatial - axes + i];
    axis = {extents[i], kernel[i], strides[i], dilations[i], pads[i], pads[axes + i], 0};
    const std::string where = " on spatial axis " + std::to_string(i);
    std::int64_t span = 0;
    if (axis.kernel < 1) {
      reader.fail("the window has " + std::to_string(axis.kernel) + " elements" + where);
    } else if (__builtin_mul_overflow(axis.kernel - 1, axis.dilation, &span) || span > std::int64_t{1} << 60) {
      reader.fail("the window is too large" + where);
    } else if (pooling && std::max(axis.before, axis.after) >= axis.span()) {
      reader.fail("a padding of " + std::to_string(std::max(axis.before, axis.after)) + " would hold the whole window of " +
                  std::to_string(axis.span()) + where);
    } else if (same) {
      pad_to_same(axis, automatic == "same_lower");
    } else {
      count_windows(axis, pooling);
      if (axis.out == 0)
        reader.fail("the window of " + std::to_string(axis.span()) + " is larger than the " +
                        std::to_string(axis.in + axis.before + axis.after) + " elements, padding included," + where,
                    DiagnosticKind::shape);
    }
  }
  if (reader.error) return *std::move(reader.error);
  return window;
}

std::optional<TypeError> check_spatial(std::string_view op, Types inputs) {
  const int rank = inputs[0].rank();
  if (rank >= 3 && rank <= 2 + static_cast<int>(kMostSpatial)) return std::nullopt;
  return refuse(
      DiagnosticKind::shape, op, inputs,
      "x must have a batch axis, a channel axis and 1 to 3 spatial axes, not " + std::to_string(rank) + (rank == 1 ? " axis" : " axes"));
}

Shape shape_of_windows(std::int64_t batch, std::int64_t channels, const Window& window, int spatial) {
  Shape shape = {batch, channels};
  for (std::size_t i = kMostSpatial - static_cast<std::size_t>(spatial); i < kMostSpatial; ++i) shape.push_back(window[i].out);
  return shape;
}

}  // namespace cleave::ops
