// Element-wise work on raw memory: the loop of an op over neighbouring results, and broadcasting, which cuts operands into runs of equal
// steps, the longest that their shapes allow. Fused tiles use the same loops.
#pragma once

#include <array>

#include "executor/device/kernel.h"
#include "graph/array/tensor_type.h"

namespace cleave::runtime::host {

/// Fills `count` neighbouring results from three operands (those that the op has not repeat another); steps in elements: 0 or 1 is fast,
/// others work. Any alignment; a result may lie on top of an operand of its size.
using RowLoop = void (*)(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count);

/// The loop of an element-wise op whose operands from `op.promote_from` on have this element type. Null: the op is not element-wise there.
/// Of `astype`, whose result is not given by its operand: `convert_loop`.
RowLoop row_loop(const OpDef& op, DType operand);
RowLoop convert_loop(DType from, DType to);
RowLoop where_loop(DType choice);

/// Any of them, by what a call's operands and its result are.
RowLoop loop_for(const OpDef& op, std::span<const TensorType> operands, const TensorType& result);

/// The one that writes its results past the caches (past_cache.h), which only some ops have.
RowLoop loop_past_cache_for(const OpDef& op, DType operand);

/// Runs `loop` over the whole result. Operands that the op has not repeat the first.
void run_rows(const KernelCall& call, RowLoop loop);

}  // namespace cleave::runtime::host
