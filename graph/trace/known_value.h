// What is known of a value while a program is traced: what follows from constants alone. Internal to the Tracer.
#pragma once

#include <optional>

#include "graph/array/array.h"
#include "graph/graph.h"

namespace cleave {

/// The value, where a few small pure operations give it from constants; nothing where it depends on data, or would take long to say.
[[nodiscard]] std::optional<Array> known_value(const Graph& graph, ValueId value);

}  // namespace cleave
