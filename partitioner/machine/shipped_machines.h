// The machine files of partitioner/machine/machines, compiled in (cmake/embed_text.cmake writes the source).
#pragma once

#include <span>

#include "graph/base/embedded_text.h"

namespace cleave {

/// By name.
std::span<const EmbeddedText> shipped_machines();

}  // namespace cleave
