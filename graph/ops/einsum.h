// einsum: sums of products in Einstein notation, traced into matrix products, sums and arithmetic.
#pragma once

#include <string>
#include <vector>

#include "graph/trace/tensor.h"

namespace cleave {

/// As NumPy's: each operand's axes have letters, `...` stands for the axes that have none, a letter that the result lacks is summed over,
/// one that stands twice in an operand takes its diagonal. Without `->`, the result has the letters that stand once, in their alphabetical
/// order. Several operands are joined in pairs, the cheapest first. Error `value`: no such equation; `shape`: axes that do not fit it.
///   Tensor scores = einsum("bhid,bhjd->bhij", {q, k}), trace = einsum("ii", {x});
Tensor einsum(std::string equation, const std::vector<Tensor>& operands, Here here = Here::now());

}  // namespace cleave
