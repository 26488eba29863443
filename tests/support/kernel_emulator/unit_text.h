// The C++ source of a unit: texts of kernels behind the prelude, with names that are unique to each text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave::testing {

/// A text to compile, with the entries through which it is launched; its names in the unit end with `key`.
struct UnitPiece {
  const std::string* text;
  std::vector<std::string> entries;
  std::string key;
};

std::string unit_text(const std::vector<UnitPiece>& pieces);
/// Everything besides texts and compiler options that determines a unit: the prelude, and the way in which `unit_text` writes.
std::string unit_makers();

}  // namespace cleave::testing
