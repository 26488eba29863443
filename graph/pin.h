// Pin: the side on which an operation must run, and whether the user demands it by `place`, or a rule of a model reader, which
// gives its reason (`--accelerator-ops`, `--placement onnxruntime`).
#pragma once

#include <string>

#include "graph/op.h"

namespace cleave {

struct Pin {
  Side side = Side::none;           ///< none: the operation is not pinned
  std::string reason = {};          ///< a rule's reason, which completes "because …"; empty: the user pinned the operation
  bool for_want_of_kernel = false;  ///< the rule is that the chosen accelerator has no kernel for the operation

  [[nodiscard]] bool any() const { return side != Side::none; }
  [[nodiscard]] bool by_rule() const { return any() && !reason.empty(); }
  [[nodiscard]] bool by_user() const { return any() && reason.empty(); }
  friend bool operator==(const Pin&, const Pin&) = default;
};

}  // namespace cleave
