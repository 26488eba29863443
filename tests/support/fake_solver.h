// The fake driver's cuSOLVER: fills its table. What it is asked for, LAPACK computes when its turn on the stream comes.
#pragma once

#include "executor/cuda/library/solver_api.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

void fill_fake_solver(cuda::SolverApi& table);

}  // namespace cleave::testing
