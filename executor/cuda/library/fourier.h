// fft, ifft, rfft and irfft by cuFFT: `prepare_fourier`. Knows no device: memory is passed with each call.
#pragma once

#include "executor/cuda/library/library_op.h"

namespace cleave::runtime::cuda {

bool has_fourier(const KernelRequest& request);
Result<LibraryOp> prepare_fourier(const FftApi& api, const Context& context, const KernelRequest& request);

}  // namespace cleave::runtime::cuda
