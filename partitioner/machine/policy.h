// Policy: by which rule a program is placed (`--placement`).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cleave {

enum class Policy : std::uint8_t {
  optimal,      ///< the minimum cut: computing and moving data together cost least
  fastest,      ///< the cut refined for predicted elapsed time
  accelerator,  ///< everything that can be there has a copy on the accelerator
  host,         ///< everything on the host
};

std::string_view to_string(Policy policy);
/// As `--placement` writes them; `makespan` is an older name of `fastest`.
std::optional<Policy> parse_policy(std::string_view name);
/// All of them.
std::span<const Policy> policies();

}  // namespace cleave
