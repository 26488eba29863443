// Broadcasting of operands. Since version 7 ONNX's rule is NumPy's; before it, attributes of the node said along which axes its second
// operand extends.
#pragma once

#include <optional>
#include <utility>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// The two operands of a node, shaped so that NumPy's broadcasting applies: below version 7 by the attributes `broadcast` and `axis`.
/// Nothing after a mistake.
std::optional<std::pair<Part, Part>> broadcast_operands(Call& c);
/// A vector with one element for each channel, shaped to broadcast over an operand of `rank` axes whose axis `axis` is the channels.
Part along_axis(Call& c, const Part& vector, int axis, int rank);

}  // namespace cleave::models::onnx
