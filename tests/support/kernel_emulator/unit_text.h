// The C++ source of a unit: texts of kernels behind the prelude, with names that are unique to each text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave::testing {

/// A text to compile, with the entries it is launched by; its names in the unit end with `key`.
struct UnitPiece {
  const std::string* text;
  std::vector<std::string> entries;
  std::string key;
};

std::string unit_text(const std::vector<UnitPiece>& pieces);
/// Whatever makes units what they are, but for their texts and the compiler's options: the prelude, and how `unit_text` writes.
std::string unit_makers();

}  // namespace cleave::testing
