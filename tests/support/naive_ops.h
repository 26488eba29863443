// A second, naive implementation of the ops whose reference implementations a compiler could vectorize wrongly: element by element, every
// element and every sum is read and written through volatile, so that there is no loop to vectorize. It shares no code with graph/ops.
#pragma once

#include <optional>
#include <span>

#include "graph/op.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

/// The result of a call that the type rule accepts: for reductions, cumulative_sum, matmul of up to two axes, astype and comparisons.
/// Nothing for any other op.
std::optional<Array> naive_result(const OpDef& op, const Attributes& attributes, std::span<const Array> inputs, const TensorType& result);

}  // namespace cleave::testing
