// The message for a condition that is not a scalar bool, with its fix. Shared by the Tracer and the readers, which know its location
// better.
#pragma once

#include <string>
#include <string_view>

#include "graph/array/tensor_type.h"

namespace cleave {

/// "the condition of `while` must be a scalar bool, not bool[4]; …". `what` names the condition.
[[nodiscard]] inline std::string no_predicate(std::string_view what, const TensorType& type) {
  const std::string text = std::string(what) + " must be a scalar bool, not " + to_string(type);
  if (type.dtype == DType::boolean) return text + "; `all(…)` or `any(…)` makes one of it";
  return text + (type.scalar() ? "; compare it, as in `n != 0`" : "; compare it and reduce it, as in `any(x > 0)`");
}

}  // namespace cleave
