// Equations: results that are checked by the equations that they must satisfy, not against the reference implementation's. Decompositions
// and solutions of ill-conditioned matrices differ widely and are all right: a stable algorithm promises a small residual, the exact result
// for operands that differ by rounding (backward error).
//
// Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. (SIAM, 2002): theorems 9.4 (solve), 10.3 (cholesky) and
// 19.4 (qr), chapter 14 (inv), section 14.6 (det); Weyl's theorem for eigenvalues and singular values.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "graph/op.h"

namespace cleave::runtime {

/// Whether the results of this call are checked by an equation: its operands are finite, and the op has a row in the table.
bool has_equation(const OpDef& op, std::span<const Array> inputs, std::span<const Array> results);

/// The equation that the results violate, or nullopt: "A - L L^T is 0.5 for A of 12 (norms), more than 1e-05".
std::optional<std::string> unsatisfied(const OpDef& op, const Attributes& attributes, std::span<const Array> inputs,
                                       std::span<const Array> results);

}  // namespace cleave::runtime
