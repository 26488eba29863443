// Error bounds: how far a right result may lie from the reference implementation's where that follows from the operands, not from the
// result's own size. A table by op says of which terms its results are sums or products. The bounds of sums hold for every order of adding.
//
// Sources: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. (SIAM, 2002), chapters 3, 4 and 24; N. J. Higham and
// T. Mary, A new approach to probabilistic rounding error analysis, SIAM J. Sci. Comput. 41 (2019).
#pragma once

#include <optional>
#include <span>

#include "graph/op.h"

namespace cleave::runtime {

/// For each element of the call's one result, the error (f64) allowed in addition to the tolerance of its type (compare.h); infinity if
/// partial results may exceed the range of the type in which they are computed, so that every value is right. `inputs` are the call's
/// operands. Nullopt: the tolerance of the type suffices.
std::optional<Array> error_bound(const OpDef& op, const Attributes& attributes, std::span<const Array> inputs);

}  // namespace cleave::runtime
