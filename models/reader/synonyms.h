// What other languages call things that models have under another name, or do another way. Knows names only.
#pragma once

#include <string>
#include <string_view>

namespace cleave::models {

/// What is put behind an error about an unknown operation: "; write `matmul(a, b)`", or nothing where the name means nothing.
[[nodiscard]] std::string instead_of_operation(std::string_view name);
/// The same about an unknown name of a value: `None`, `break`, `pi`.
[[nodiscard]] std::string instead_of_name(std::string_view name);

}  // namespace cleave::models
