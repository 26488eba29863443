// The fake driver's cuDNN: fills its table. Convolutions are computed when their turn on the stream comes, by the sum that defines them.
#pragma once

#include "executor/cuda/library/dnn_api.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

void fill_fake_dnn(cuda::DnnApi& table);

}  // namespace cleave::testing
