// The fake driver's cuBLASLt: fills the library's function table. A product is computed when the stream reaches it.
#pragma once

#include "executor/cuda/matmul/blas_api.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

void fill_fake_blas(cuda::BlasApi& table);

}  // namespace cleave::testing
