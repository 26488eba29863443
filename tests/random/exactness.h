// Which values of a program are equal to the bit in every correct execution.
#pragma once

#include "graph/array/array.h"
#include "graph/graph.h"

namespace cleave::testing {

/// For each value, whether no approximating operation (vocabulary.h) contributed to it or to a decision about its computation.
IdVector<ValueId, char> exact_values(const Graph& graph);

/// Same type and bits, but for which NaN it is.
bool same(const Array& a, const Array& b);
/// The first difference between the two arrays: "element 3 is 1 instead of 2".
std::string first_difference(const Array& a, const Array& b);

}  // namespace cleave::testing
