// The fake driver's cuDNN: fills the library's function table. A convolution is computed by its defining sum when the stream reaches it.
#pragma once

#include "executor/cuda/library/dnn_api.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

void fill_fake_dnn(cuda::DnnApi& table);

}  // namespace cleave::testing
