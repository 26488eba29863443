// Names from other languages and libraries, and how a model expresses the same. Knows names only.
#pragma once

#include <string>
#include <string_view>

namespace cleave::models {

/// The advice appended to an error about an unknown operation: "; write `matmul(a, b)`", or nothing if the name is not in the list.
[[nodiscard]] std::string instead_of_operation(std::string_view name);
/// The same about an unknown name of a value: `None`, `break`, `pi`.
[[nodiscard]] std::string instead_of_name(std::string_view name);
/// The same about a method without an operation of its name: `x.cuda()`, `x.item()`, where `owner` is `x`.
[[nodiscard]] std::string instead_of_method(std::string_view name, std::string_view owner);
/// The element type that other languages call `name` (`float32`: "f32"), or nothing.
[[nodiscard]] std::string_view dtype_meant(std::string_view name);
/// The argument that other libraries call `name` (`dim`: "axis"), or nothing.
[[nodiscard]] std::string_view argument_meant(std::string_view name);
/// The device that other libraries call `name` (`gpu`: "accelerator"), or nothing.
[[nodiscard]] std::string_view place_meant(std::string_view name);

}  // namespace cleave::models
