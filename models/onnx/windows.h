// Window attributes of convolutions and pools, converted to the form that the vocabulary's functions take.
#pragma once

#include "graph/attributes.h"
#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// `strides`, `pads`, `dilations` and `auto_pad`; those that the node lacks are omitted.
Attributes window_attributes(Call& c);

}  // namespace cleave::models::onnx
