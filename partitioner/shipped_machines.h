// The machine files of partitioner/machines, compiled in (cmake/embed_text.cmake writes the source).
#pragma once

#include <span>
#include <string_view>

namespace cleave {

struct EmbeddedText {
  std::string_view name, text;
};
/// By name.
std::span<const EmbeddedText> shipped_machines();

}  // namespace cleave
