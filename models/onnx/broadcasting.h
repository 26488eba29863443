// How operands meet: ONNX's broadcasting is NumPy's since version 7; before it a node said along which axis its second operand lies.
#pragma once

#include <optional>
#include <utility>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// The two operands of a node, ready to broadcast as NumPy's do. Below version 7: by `broadcast` and `axis`. Nothing after a mistake.
std::optional<std::pair<Part, Part>> broadcast_operands(Call& c);
/// A vector by channel, to be broadcast over an operand of `rank` axes whose axis `axis` are the channels.
Part along_axis(Call& c, const Part& vector, int axis, int rank);

}  // namespace cleave::models::onnx
