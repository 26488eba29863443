// Broadcasting on raw memory: the operands of an element-wise kernel as runs of equal steps, the longest that their shapes allow.
#pragma once

#include <array>

#include "executor/device/kernel.h"

namespace cleave::runtime::host {

/// Fills `count` results from three strided operands; steps in elements. As graph/ops/elementwise.h has it.
using RowLoop = void (*)(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count);

/// Runs `loop` over the whole result. Operands that the op has not repeat the first.
void run_rows(const KernelCall& call, RowLoop loop);

}  // namespace cleave::runtime::host
