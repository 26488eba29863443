// Fourier's transforms along an axis, on the host. There is no complex element type: a complex number is a pair, real and imaginary part,
// along a last axis of extent 2, as in ONNX's DFT. `axis` does not count that axis: -1 is the last one before it, so that programs of NumPy
// keep their numbers. f32 and f64 (integers give f32). Error `shape`: no such axis, no pair, or an axis of extent 0.
#pragma once

#include "graph/ops/ops.h"

namespace cleave {

struct FourierOptions {
  int axis = -1;
};
/// sum over j of x[j] exp(-2 pi i j k / n): [.., n, .., 2] -> the same shape. Not scaled.
///   Tensor spectrum = fft(stack({re, im}, {.axis = -1}));
Tensor fft(const Tensor& x, const FourierOptions& options = {}, Here here = Here::now());
Tensor ifft(const Tensor& x, const FourierOptions& options = {}, Here here = Here::now());  ///< undoes `fft`, so divided by n
/// Of real numbers, the first half, which says all: [.., n, ..] -> [.., n / 2 + 1, .., 2].
Tensor rfft(const Tensor& x, const FourierOptions& options = {}, Here here = Here::now());

struct RealFourierOptions {
  std::optional<std::int64_t> n = {};  ///< how many real numbers: 2 (m - 1), which is the default, or 2 m - 1 of m complex ones
  int axis = -1;
};
/// Undoes `rfft`: [.., m, .., 2] -> [.., n, ..].
Tensor irfft(const Tensor& x, const RealFourierOptions& options = {}, Here here = Here::now());

}  // namespace cleave
