// Sizes that a file states as expressions of others, as exporters write them: `past_len + seq`, `2*s0`, `s0//2 + 1`, `floor(h/2 - 1/2)`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::models::onnx {

/// The value of a name.
using SizeOf = std::function<std::optional<std::int64_t>(std::string_view)>;

/// The value of an expression of integers and names with + - * / // % **, parentheses, and floor, ceiling, Min, Max, Mod, FloorDiv.
/// Division is exact, and only the result must be an integer. Nothing for other texts, for a name without a value, and where numbers
/// overflow. Takes time linear in the length; nesting is limited.
std::optional<std::int64_t> evaluate_dimension(std::string_view text, const SizeOf& size_of);

/// The names in an expression, each once; empty for a text that is a name itself or no expression.
std::vector<std::string> names_in_dimension(std::string_view text);

}  // namespace cleave::models::onnx
