#include "partitioner/machine/policy.h"

#include <algorithm>

namespace cleave {
namespace {

constexpr Policy kPolicies[] = {Policy::optimal, Policy::fastest, Policy::accelerator, Policy::host};

}  // namespace

std::span<const Policy> policies() {
  return kPolicies;
}

std::string_view to_string(Policy policy) {
  switch (policy) {
    case Policy::optimal: return "optimal";
    case Policy::fastest: return "fastest";
    case Policy::accelerator: return "accelerator";
    case Policy::host: break;
  }
  return "host";
}

std::optional<Policy> parse_policy(std::string_view name) {
  if (name == "makespan") return Policy::fastest;  // the name of `fastest` until version 0.2
  const auto* found = std::find_if(std::begin(kPolicies), std::end(kPolicies), [&](Policy policy) { return to_string(policy) == name; });
  return found == std::end(kPolicies) ? std::nullopt : std::optional(*found);
}

}  // namespace cleave
