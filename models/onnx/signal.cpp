// Lowerings of signal processing: Fourier transforms, windows, the Mel weight matrix; and of determinants.
#include <cmath>
#include <numbers>

#include "models/onnx/call.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

// --- Fourier transforms ------------------------------------------------------------------------------------------------------------------

/// `count` elements along an axis, from `first` on.
Part part_of(Call& c, const Part& x, int axis, std::int64_t first, std::int64_t count) {
  Integers starts(static_cast<std::size_t>(x.rank()), 0), stops = x.shape();
  starts[static_cast<std::size_t>(axis)] = first;
  stops[static_cast<std::size_t>(axis)] = first + count;
  return c(op::slice, {x}, {{"starts", std::move(starts)}, {"stops", std::move(stops)}});
}

/// Crops an axis, or pads it with zeros, to `length`.
Part fitted(Call& c, const Part& x, int axis, std::int64_t length) {
  const auto at = static_cast<std::size_t>(axis);
  const Shape shape = x.shape();
  if (shape[at] == length) return x;
  if (shape[at] > length) return part_of(c, x, axis, 0, length);
  Integers widths(2 * shape.size(), 0);
  widths[2 * at + 1] = length - shape[at];
  return c(op::pad, {x}, {{"widths", std::move(widths)}});
}

/// The Fourier transform along `axis` of numbers whose last axis is 1 (real) or 2 (complex). For real numbers, the second half of the
/// result is the first half reversed and conjugated.
Part transformed(Call& c, const Part& x, int axis, bool onesided) {
  const int last = x.rank() - 1;
  const Attributes along{{"axis", std::int64_t{axis}}};
  if (x.shape().back() == 2) return c(op::fft, {x}, along);
  const Part half = c(op::rfft, {c(op::squeeze, {x}, {{"axis", Integers{last}}})}, along);
  const std::int64_t rest = (x.shape()[static_cast<std::size_t>(axis)] - 1) / 2;
  if (onesided || rest == 0) return half;
  const Part back = c(op::flip, {part_of(c, half, axis, 1, rest)}, {{"axis", Integers{axis}}});
  return c(op::concat, {half, c.multiply(back, c.numbers_constant({1, -1}, x.dtype(), {2}))}, along);
}

/// The value of an operand that must be one known number; nothing after a mistake, or if it is left out.
std::optional<std::int64_t> known_number(Call& c, std::size_t i, std::string_view what) {
  const auto numbers = c.known_integers(i, what);
  if (!numbers) return std::nullopt;
  if (numbers->size() == 1) return numbers->front();
  c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "` takes one number for " + std::string(what));
  return std::nullopt;
}

Values dft(Call& c) {
  const bool inverse = c.flag("inverse"), onesided = c.flag("onesided");
  const Part x = c[0];
  const Shape shape = x.shape();
  const auto wanted = c.has(1) ? known_number(c, 1, "the shape of its result") : std::nullopt;
  if (c.has(1) && !wanted) return c.poison();
  const auto given = c.version() < 20 ? c.integer("axis", 1) : c.has(2) ? known_number(c, 2, "the axis that is transformed") : -2;
  if (!given) return c.poison();
  const auto axis = c.axis(*given, x.rank());
  if (!axis) return c.poison();
  if (x.rank() < 2 || *axis == x.rank() - 1 || shape.back() < 1 || shape.back() > 2)
    return c.mistake(DiagnosticKind::shape, "`DFT` transforms an axis before the last, which is 1 (real) or 2 (complex), not axis " +
                                                std::to_string(*given) + " of " + to_string(x.type()));
  const std::int64_t extent = shape[static_cast<std::size_t>(*axis)],
                     length = wanted.value_or(inverse && onesided ? 2 * (extent - 1) : extent);
  if (length < 1) return c.mistake(DiagnosticKind::value, "`DFT` of the length " + std::to_string(length));
  if (inverse && onesided) {
    const Part half = fitted(c, fitted(c, x, *axis, length / 2 + 1), x.rank() - 1, 2);
    const Part real = c(op::irfft, {half}, {{"n", length}, {"axis", std::int64_t{*axis}}});
    return {c(op::expand_dims, {real}, {{"axis", std::int64_t{-1}}})};
  }
  const Part whole = fitted(c, x, *axis, length);
  if (inverse) return {c(op::ifft, {fitted(c, whole, x.rank() - 1, 2)}, {{"axis", std::int64_t{*axis}}})};
  if (onesided && shape.back() == 2) return c.unsupported("of complex numbers with `onesided`");
  return {transformed(c, whole, *axis, onesided)};
}

/// Takes frames of the signal, which may overlap, and multiplies them by the window.
Values stft(Call& c) {
  const bool onesided = c.flag("onesided", true);
  const auto step = known_number(c, 1, "the shape of its result");
  const auto given = step && c.has(3) ? known_number(c, 3, "the shape of its result") : std::nullopt;
  if (!step || (c.has(3) && !given)) return c.poison();
  const Part x = c[0].rank() == 2 ? c(op::expand_dims, {c[0]}, {{"axis", std::int64_t{2}}}) : c[0];
  const Shape shape = x.shape();
  if (shape.size() != 3 || shape[2] < 1 || shape[2] > 2)
    return c.mistake(DiagnosticKind::shape, "`STFT` takes a signal [batch, length, 1 or 2], not " + to_string(c[0].type()));
  if (!given && !c.has(2)) return c.mistake(DiagnosticKind::value, "`STFT` needs a window or the length of its frames");
  const std::int64_t length = given ? *given : c[2].type().elements();
  if (length < 1 || length > shape[1] || *step < 1 || (c.has(2) && c[2].shape() != Shape{length}))
    return c.mistake(DiagnosticKind::value, "`STFT`: frames of " + std::to_string(length) + " in steps of " + std::to_string(*step) +
                                                " do not fit the signal " + to_string(c[0].type()) + " or the window");
  if (onesided && shape[2] == 2) return c.unsupported("of complex numbers with `onesided`");
  const std::int64_t frames = 1 + (shape[1] - length) / *step;
  Integers places;
  for (std::int64_t i = 0; i < frames * length; ++i) places.push_back(i / length * *step + i % length);
  const Part at = c.reshape(c.integers_constant(places), {frames, length});
  Part framed = c(op::take, {x, at}, {{"axis", std::int64_t{1}}});
  if (c.has(2)) framed = c.multiply(framed, c.reshape(c[2], {length, 1}));
  return {transformed(c, framed, 2, onesided)};
}

// --- computed constants ------------------------------------------------------------------------------------------------------------------

DType wanted_type(Call& c) {
  return c.has_attribute("output_datatype") ? c.dtype("output_datatype").value_or(DType::f32) : DType::f32;
}

/// A window that is a sum of cosines: `a0 - a1 cos(x) + a2 cos(2x)`.
Values window(Call& c, double a0, double a1, double a2) {
  const bool periodic = c.flag("periodic", true);
  const DType dtype = wanted_type(c);
  const auto size = known_number(c, 0, "the shape of its result");
  if (!size) return c.poison();
  if (*size < 0) return c.mistake(DiagnosticKind::value, "`" + std::string(c.op()) + "` of the size " + std::to_string(*size));
  std::vector<double> values;
  for (std::int64_t n = 0; n < *size; ++n) {
    const double x = 2 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(periodic ? *size : *size - 1);
    values.push_back(a0 - a1 * std::cos(x) + a2 * std::cos(2 * x));
  }
  return {c.numbers_constant(values, dtype, {*size})};
}
Values hann_window(Call& c) {
  return window(c, 0.5, 0.5, 0);
}
Values hamming_window(Call& c) {
  return window(c, 25.0 / 46.0, 21.0 / 46.0, 0);
}
Values blackman_window(Call& c) {
  return window(c, 0.42, 0.5, 0.08);
}

double mel(double hertz) {
  return 2595 * std::log1p(hertz / 700) / std::numbers::ln10;
}
double hertz(double mel) {
  return 700 * std::expm1(mel / 2595 * std::numbers::ln10);
}

/// Triangular filters, equally spaced on the Mel scale: [dft_length / 2 + 1, bins].
Values mel_weight_matrix(Call& c) {
  const DType dtype = wanted_type(c);
  std::vector<double> given;
  for (std::size_t i = 0; i < 5; ++i) {
    const auto numbers = c.known_numbers(i, "its result");
    if (!numbers || numbers->size() != 1)
      return numbers ? c.mistake(DiagnosticKind::shape, "`MelWeightMatrix` takes five numbers") : c.poison();
    given.push_back(numbers->front());
  }
  const auto bins = static_cast<std::int64_t>(given[0]), lines = static_cast<std::int64_t>(given[1]) / 2 + 1;
  if (bins < 0 || given[1] < 0 || !(given[2] > 0))
    return c.mistake(DiagnosticKind::value, "`MelWeightMatrix`: no such bins, length or rate");
  const double low = mel(given[3]), step = (mel(given[4]) - low) / static_cast<double>(bins + 2);
  Integers edges;
  for (std::int64_t i = 0; i < bins + 2; ++i)
    edges.push_back(static_cast<std::int64_t>(std::floor((given[1] + 1) * hertz(static_cast<double>(i) * step + low) / given[2])));
  std::vector<double> values(static_cast<std::size_t>(lines * bins), 0.0);
  for (std::int64_t i = 0; i < bins; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const std::int64_t left = edges[k], center = edges[k + 1], right = edges[k + 2];
    if (left < 0 || right > lines)
      return c.mistake(DiagnosticKind::value, "`MelWeightMatrix`: the edges lie outside of what the rate can show");
    const auto set = [&](std::int64_t line, double value) {
      if (line < lines) values[static_cast<std::size_t>(line * bins + i)] = value;
    };
    if (left == center) set(center, 1);
    for (std::int64_t j = left; left != center && j <= center; ++j)
      set(j, static_cast<double>(j - left) / static_cast<double>(center - left));
    for (std::int64_t j = center; j < right; ++j) set(j, static_cast<double>(right - j) / static_cast<double>(right - center));
  }
  return {c.numbers_constant(values, dtype, {lines, bins})};
}

Values det(Call& c) {
  return {c(op::det, {c[0]})};
}

Values inverse(Call& c) {
  return {c.as(c[0].dtype(), c(op::inv, {c.as(promote(c[0].dtype(), DType::f32), c[0])}))};
}

}  // namespace

std::span<const Lowering> signal_lowerings() {
  static constexpr Lowering kRows[] = {
      {"BlackmanWindow", 17, blackman_window},
      {"DFT", 17, dft},
      {"Det", 11, det},
      {"com.microsoft.Inverse", 1, inverse},
      {"HammingWindow", 17, hamming_window},
      {"HannWindow", 17, hann_window},
      {"MelWeightMatrix", 17, mel_weight_matrix},
      {"STFT", 17, stft},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
