// Why a node is pinned that no user pinned: a reader of models did, after a rule (`--accelerator-ops`, `--placement onnxruntime`). The
// reason lies beside the pin as an allowance, so that passes, texts and programs keep it, of a kind that no user can allow.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace cleave {

/// For Tracer::push_allow(), with push_place(Side::host): the accelerator in question has no kernel. `reason` completes "because …".
[[nodiscard]] inline Allowance pinned_for_want_of_kernel(std::string reason) {
  return {DiagnosticKind::unsupported, std::move(reason)};
}
/// The same for any other rule.
[[nodiscard]] inline Allowance pinned_by_rule(std::string reason) {
  return {DiagnosticKind::placement, std::move(reason)};
}

/// The innermost of these, or null: then its pin is the user's.
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
