// Element-wise loops on raw memory: the loop of an op over contiguous results, and broadcasting, which divides operands into the longest
// runs of constant step that their shapes allow. Fused tiles use the same loops.
#pragma once

#include <array>

#include "executor/device/kernel.h"
#include "graph/array/tensor_type.h"

namespace cleave::runtime::host {

/// Fills `count` contiguous results from three operands; pointers beyond the op's arity repeat another operand. Steps are in elements: 0
/// and 1 are fast, others work. Any alignment is accepted; a result may overlap an operand of its element size if both start at the same
/// address.
using RowLoop = void (*)(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count);

/// The loop of an element-wise op whose operands from `op.promote_from` on have this element type. Null: the op is not element-wise for it.
/// `astype`, whose result type does not follow from its operand, has `convert_loop`.
RowLoop row_loop(const OpDef& op, DType operand);
RowLoop convert_loop(DType from, DType to);
RowLoop where_loop(DType choice);

/// Chooses among these loops by the types of a call's operands and result.
RowLoop loop_for(const OpDef& op, std::span<const TensorType> operands, const TensorType& result);

/// The loop that writes its results past the caches (past_cache.h); null for ops without one.
RowLoop loop_past_cache_for(const OpDef& op, DType operand);

/// Runs `loop` over the whole result. Operands beyond the op's arity repeat the first.
void run_rows(const KernelCall& call, RowLoop loop);

}  // namespace cleave::runtime::host
