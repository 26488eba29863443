// The entry points of this room: loops of element-wise ops by level, one function for each file. Null: the level has no loop for the op,
// and the compiler's loop for the baseline (executor/host/elementwise.cpp) is as good or the only one. Calls follow RowLoop (rows.h).
#pragma once

#include <string_view>

#include "executor/host/rows.h"
#include "executor/host/simd/level.h"

namespace cleave::runtime::host {

RowLoop math_loop(Level level, std::string_view op, DType operand);
/// Like math_loop for functions of one operand, but with non-temporal stores (executor/host/past_cache.h); results must be aligned to a
/// vector.
RowLoop math_loop_past_cache(Level level, std::string_view op, DType operand);
RowLoop arithmetic_loop(Level level, std::string_view op, DType operand);
RowLoop comparison_loop(Level level, std::string_view op, DType operand);
/// For floor_divide and remainder.
RowLoop division_loop(Level level, std::string_view op, DType operand);
/// For f16 and bf16 only; all ops.
RowLoop half_loop(Level level, std::string_view op, DType operand);

/// For `where` (by the type of its choices) and `astype`.
RowLoop choosing_loop(Level level, DType choice);
RowLoop converting_loop(Level level, DType from, DType to);

/// The level's loop for an op of any of the other families.
RowLoop simd_loop(Level level, std::string_view op, DType operand);

}  // namespace cleave::runtime::host
