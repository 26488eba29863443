// Which operations change a part of an operand and leave the rest as it is. Where nobody reads that operand afterwards, memory is planned
// so that a kernel finds it and the result in one place, and changes that part alone; else the kernel copies it first. And which change
// nothing: their result may lie where the operand lies, whoever reads that afterwards.
#pragma once

#include <optional>

#include "graph/op.h"

namespace cleave::ops {

/// The operand of which the result of `op` is a changed copy; nothing: there is none such.
std::optional<std::size_t> updated_operand(const OpDef& op);

/// Whether the result has the bytes of the one operand, in their order: it is another name for it, or another type.
bool keeps_bytes(const OpDef& op);

}  // namespace cleave::ops
