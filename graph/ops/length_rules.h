// Length rules: what an op does with operands of which only the first elements along an axis count (OpDef::length_rule). Behind them lie
// elements that mean nothing, and a rule says how the result does not depend on them: most ops never look at them, reductions get neutral
// elements in their place.
#pragma once

#include "graph/length_call.h"
#include "graph/ops/rules.h"

namespace cleave::ops::lengths {

// One function for each kind of op; false: the op does not take these operands. `axis` stands for the attribute of that name.
bool elementwise(LengthCall& call);  ///< the result is as long as the operands, which broadcast
bool same(LengthCall& call);         ///< the result is as long as the first operand; the others have no lengths
bool rows(LengthCall& call);         ///< likewise, in front of `axis`
bool first_axis(LengthCall& call);   ///< likewise, along the first axis
bool mean(LengthCall& call);         ///< a reduction over other axes
bool softmax(LengthCall& call);
bool cumulative_sum(LengthCall& call);
bool cumulative_prod(LengthCall& call);
bool sort(LengthCall& call);
bool top_k(LengthCall& call);
bool transpose(LengthCall& call);
bool permute_dims(LengthCall& call);
bool reshape(LengthCall& call);  ///< into a shape in which the axis is an axis
bool expand_dims(LengthCall& call);
bool squeeze(LengthCall& call);
bool broadcast_to(LengthCall& call);
bool flip(LengthCall& call);
bool slice(LengthCall& call);
bool take(LengthCall& call);
bool take_along_axis(LengthCall& call);
bool gather_nd(LengthCall& call);
bool concat(LengthCall& call);
bool stack(LengthCall& call);
bool one_hot(LengthCall& call);
bool matmul(LengthCall& call);
bool roi_align(LengthCall& call);

/// The axes of a reduction, with neutral elements.
bool reduced(LengthCall& call, Neutral neutral);
template <Neutral neutral>
bool reduction(LengthCall& call) {
  return reduced(call, neutral);
}
/// Whether places that are counted row by row over the axes of a reduction are the same with fewer elements: only the first axis has a
/// length.
bool counts_alike(const LengthCall& call);
/// The same for the place of an element, of which there must be one.
template <Neutral neutral>
bool position(LengthCall& call) {
  if (!counts_alike(call) || !reduced(call, neutral)) return false;
  for (const LengthCall::Mask& mask : call.masks) call.least.emplace_back(*call.length(mask.operand, mask.axis), 1);
  return true;
}

}  // namespace cleave::ops::lengths
