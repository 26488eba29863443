// In-place updates: operations that change a part of one operand. If that operand is not read afterwards, the memory plan gives it and the
// result the same storage, and the kernel writes only the changed part; otherwise the kernel copies the operand first. OpDef::keeps_bytes
// marks operations that change nothing (views).
#pragma once

#include <optional>

#include "graph/op.h"

namespace cleave::ops {

/// The operand of which the result of `op` is a modified copy, and with which it may share storage; nothing for other ops.
std::optional<std::size_t> updated_operand(const OpDef& op);

}  // namespace cleave::ops
