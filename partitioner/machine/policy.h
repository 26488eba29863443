// Policy: the rule by which a program is placed (`--placement`).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cleave {

enum class Policy : std::uint8_t {
  optimal,      ///< the minimum cut: the least sum of computing and transfer costs
  fastest,      ///< the cut refined for predicted elapsed time
  accelerator,  ///< every operation that can run on the accelerator has a copy there
  host,         ///< everything on the host
};

std::string_view to_string(Policy policy);
/// As `--placement` writes them; `makespan` is an older name of `fastest`.
std::optional<Policy> parse_policy(std::string_view name);
/// All policies.
std::span<const Policy> policies();

}  // namespace cleave
