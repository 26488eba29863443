// A text file compiled into the library (cmake/embed_text.cmake writes the source).
#pragma once

#include <string_view>

namespace cleave {

struct EmbeddedText {
  std::string_view name, text;  ///< the file's name without extension
};

}  // namespace cleave
