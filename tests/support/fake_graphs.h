// The fake driver's CUDA graphs: fills their calls in the driver's function table. A graph's nodes run in any order that its edges allow.
#pragma once

#include "executor/cuda/driver_api.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

void fill_fake_graphs(cuda::DriverApi& table);

}  // namespace cleave::testing
