// shipped_machines(): the files of partitioner/machine/machines, compiled in. cmake/embed_text.cmake generates its source.
#pragma once

#include <span>

#include "graph/base/embedded_text.h"

namespace cleave {

/// All shipped machine files with their names.
std::span<const EmbeddedText> shipped_machines();

}  // namespace cleave
