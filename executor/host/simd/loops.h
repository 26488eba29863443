// The doors of this room: the loops of element-wise ops by level, one function a file. Null: that level has none, and the compiler's loop
// for any machine (executor/host/elementwise.cpp) is as good or all there is. Calls are those of RowLoop (rows.h).
#pragma once

#include <string_view>

#include "executor/host/rows.h"
#include "executor/host/simd/level.h"

namespace cleave::runtime::host {

RowLoop math_loop(Level level, std::string_view op, DType operand);
/// The same, of functions of one operand, writing past the caches (executor/host/past_cache.h) where results lie at multiples of a vector.
RowLoop math_loop_past_cache(Level level, std::string_view op, DType operand);
RowLoop arithmetic_loop(Level level, std::string_view op, DType operand);
RowLoop comparison_loop(Level level, std::string_view op, DType operand);
/// Of floor_divide and remainder.
RowLoop division_loop(Level level, std::string_view op, DType operand);
/// Of f16 and bf16 alone, every op.
RowLoop half_loop(Level level, std::string_view op, DType operand);

/// Of `where` and `astype`, by the types that count there.
RowLoop choosing_loop(Level level, DType choice);
RowLoop converting_loop(Level level, DType from, DType to);

/// The level's loop for an op of the other families.
RowLoop simd_loop(Level level, std::string_view op, DType operand);

}  // namespace cleave::runtime::host
