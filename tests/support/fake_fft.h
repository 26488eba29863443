// The fake driver's cuFFT: fills its table. Transforms are computed when their turn on the stream comes, by the sum that defines them.
#pragma once

#include "executor/cuda/library/fft_api.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

void fill_fake_fft(cuda::FftApi& table);

}  // namespace cleave::testing
