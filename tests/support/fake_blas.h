// The fake driver's cuBLASLt: fills its table. Products are computed when their turn on the stream comes.
#pragma once

#include "executor/cuda/matmul/blas_api.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

void fill_fake_blas(cuda::BlasApi& table);

}  // namespace cleave::testing
