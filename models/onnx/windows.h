// What nodes of convolutions and pools say of their windows, as the functions of the vocabulary take it.
#pragma once

#include "graph/attributes.h"
#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// `strides`, `pads`, `dilations` and `auto_pad`; those that the node does not have are left out.
Attributes window_attributes(Call& c);

}  // namespace cleave::models::onnx
