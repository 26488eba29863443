// Outputs whose sizes depend on data: a value has the largest possible size, and a run returns only its first elements along some axes. As
// many as another output, a count, holds (Output::lengths).
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "graph/array/array.h"
#include "graph/base/result.h"
#include "graph/graph.h"

namespace cleave {

/// The output of that name; null if there is none.
[[nodiscard]] const Output* output_named(const Graph& graph, std::string_view name);

/// Per output: whether it is the count of another one. Counts are results on request only.
[[nodiscard]] std::vector<bool> count_outputs(const Graph& graph);

/// The elements of `array`, the whole value of `output`, that a run returns; `array` itself if these are all. `value` returns the arrays of
/// the counts. An Error (user) at the output's line if a count is negative, or larger than the array has room for.
[[nodiscard]] Result<Array> cut_to_lengths(const Graph& graph, const Output& output, Array array,
                                           const std::function<Array(ValueId count)>& value);

}  // namespace cleave
