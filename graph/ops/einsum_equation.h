// EinsumEquation: the equation of an einsum, parsed and checked against its operands' types. Knows nothing of its evaluation.
#pragma once

#include <map>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/ops/rules.h"

namespace cleave::ops {

/// An axis by its letter; axes of `...` are numbers below zero: -1 is the last of them, -2 the one before.
using Label = int;
using Labels = std::vector<Label>;

struct EinsumEquation {
  std::vector<Labels> operands;  ///< one label an axis
  Labels result;
  std::map<Label, std::int64_t> extents;
};

std::variant<EinsumEquation, TypeError> read_equation(std::string_view text, Types inputs);

}  // namespace cleave::ops
