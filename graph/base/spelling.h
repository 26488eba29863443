// Spelling: the name that a misspelt one was meant to be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

/// The nearest of `candidates` to a misspelt `word`, if near enough to suggest.
std::optional<std::string> nearest_name(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace cleave
