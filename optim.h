// Training in the tracing API: <cleave/optim.h>.
#pragma once

// IWYU pragma: begin_exports
#include "cleave.h"
#include "graph/ops/optim.h"
// IWYU pragma: end_exports
