// Reasons of pins that a model reader set by a rule (`--accelerator-ops`, `--placement onnxruntime`), not the user. The reason is stored
// beside the pin as an Allowance, so that passes, text form and programs keep it; its kind is one that no user can allow.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace cleave {

/// For Tracer::push_allow(), with push_place(Side::host): the chosen accelerator has no kernel. `reason` completes "because …".
[[nodiscard]] inline Allowance pinned_for_want_of_kernel(std::string reason) {
  return {DiagnosticKind::unsupported, std::move(reason)};
}
/// The same for every other rule.
[[nodiscard]] inline Allowance pinned_by_rule(std::string reason) {
  return {DiagnosticKind::placement, std::move(reason)};
}

/// The innermost such reason of a node; null if the user set the pin or there is none.
[[nodiscard]] inline const Allowance* pin_reason(const Node& node) {
  for (auto each = node.allowed.rbegin(); node.pin != Side::none && each != node.allowed.rend(); ++each)
    if (each->kind == DiagnosticKind::unsupported || each->kind == DiagnosticKind::placement) return &*each;
  return nullptr;
}
[[nodiscard]] inline bool lacks_kernel_by_rule(const Node& node) {
  const Allowance* reason = pin_reason(node);
  return reason && reason->kind == DiagnosticKind::unsupported;
}

}  // namespace cleave
