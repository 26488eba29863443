// Which operations change a part of an operand and leave the rest as it is. Where nobody reads that operand afterwards, memory is planned
// so that a kernel finds it and the result in one place, and changes that part alone; else the kernel copies it first. Those that change
// nothing are OpDef::keeps_bytes.
#pragma once

#include <optional>

#include "graph/op.h"

namespace cleave::ops {

/// The operand of which the result of `op` is a changed copy; nothing: there is none such.
std::optional<std::size_t> updated_operand(const OpDef& op);

}  // namespace cleave::ops
