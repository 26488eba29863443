// The fake driver's cuSOLVER: fills the library's function table. LAPACK computes each request when the stream reaches it.
#pragma once

#include "executor/cuda/library/solver_api.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

void fill_fake_solver(cuda::SolverApi& table);

}  // namespace cleave::testing
