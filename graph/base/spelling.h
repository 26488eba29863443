// Spelling: the name that a misspelt one was meant to be, and how an error says so.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

/// The nearest of `candidates` to a misspelt `word`, if near enough to suggest. A swap of two neighbours is one edit; of several as near,
/// the first with the same letters, else the first.
std::optional<std::string> nearest_name(std::string_view word, const std::vector<std::string>& candidates);

/// What is put behind an error about an unknown name: "; did you mean `matmul`?", or nothing if no candidate is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);
/// The same; where none is near but there are few, these: "; it has `x`, `w`".
std::string did_you_mean_or_has(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace cleave
