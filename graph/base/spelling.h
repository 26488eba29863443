// Spelling suggestions: the nearest existing name to a misspelled one, and the text that suggests it in an error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

/// The nearest of `candidates` to a misspelled `word`, if near enough to suggest. Swapping two neighboring letters counts as one edit;
/// among equally near candidates, the first with the same letters wins, else the first.
std::optional<std::string> nearest_name(std::string_view word, const std::vector<std::string>& candidates);

/// The suffix of an error about an unknown name: "; did you mean `matmul`?", or nothing if no candidate is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);
/// The same; if no candidate is near and there are few, it lists them: "; it has `x`, `w`".
std::string did_you_mean_or_has(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace cleave
