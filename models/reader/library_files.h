// The files of models/library, which are part of the program: an installed cleave has them in share/cleave as well, to be read.
#pragma once

#include <span>

#include "graph/base/embedded_text.h"

namespace cleave::models {

std::span<const EmbeddedText> library_files();

}  // namespace cleave::models
