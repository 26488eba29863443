// Fourier transforms along an axis, on the host. There is no complex element type: a complex number is a pair, real and imaginary part,
// along a last axis of extent 2, as in ONNX's DFT. `axis` does not count that axis: -1 is the last one before it, so that axis numbers are
// the same as in NumPy programs. f32 and f64 (integers give f32). Error `shape`: no such axis, no pair, or an axis of extent 0.
#pragma once

#include "graph/ops/ops.h"

namespace cleave {

struct FourierOptions {
  int axis = -1;
};
/// sum over j of x[j] exp(-2 pi i j k / n): [.., n, .., 2] -> the same shape. Not scaled.
///   Tensor spectrum = fft(stack({re, im}, {.axis = -1}));
Tensor fft(const Tensor& x, const FourierOptions& options = {}, Here here = Here::now());
Tensor ifft(const Tensor& x, const FourierOptions& options = {}, Here here = Here::now());  ///< the inverse of `fft`, scaled by 1 / n
/// Transform of real numbers: the first half of the spectrum, which determines the rest: [.., n, ..] -> [.., n / 2 + 1, .., 2].
Tensor rfft(const Tensor& x, const FourierOptions& options = {}, Here here = Here::now());

struct RealFourierOptions {
  std::optional<std::int64_t> n = {};  ///< number of real results: 2 (m - 1), the default, or 2 m - 1 for m complex numbers
  int axis = -1;
};
/// The inverse of `rfft`: [.., m, .., 2] -> [.., n, ..].
Tensor irfft(const Tensor& x, const RealFourierOptions& options = {}, Here here = Here::now());

}  // namespace cleave
