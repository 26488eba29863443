// The fake driver's cuFFT: fills the library's function table. A transform is computed by its defining sum when the stream reaches it.
#pragma once

#include "executor/cuda/library/fft_api.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

void fill_fake_fft(cuda::FftApi& table);

}  // namespace cleave::testing
