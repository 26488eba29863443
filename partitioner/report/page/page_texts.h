// Style sheet and script of the page, compiled in (cmake/embed_text.cmake writes the source).
#pragma once

#include <span>

#include "graph/base/embedded_text.h"

namespace cleave::planner {

/// `style` and `script`.
std::span<const EmbeddedText> page_texts();

}  // namespace cleave::planner
