// A context for reference implementations and kernels that print nothing.
#pragma once

#include <string_view>

#include "graph/op.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

inline const OpContext kNoOutput{[](std::string_view) {}};

}  // namespace cleave::testing
