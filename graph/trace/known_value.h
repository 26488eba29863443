// Constant evaluation while a program is traced. Internal to the Tracer.
#pragma once

#include <optional>

#include "graph/array/array.h"
#include "graph/graph.h"

namespace cleave {

/// The value, if a few small pure operations compute it from constants; nothing if it depends on data or is expensive to compute.
[[nodiscard]] std::optional<Array> known_value(const Graph& graph, ValueId value);

}  // namespace cleave
