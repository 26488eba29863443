// Window attributes of convolutions and pools, and the order of their axes, converted to the form that the vocabulary's functions take.
#pragma once

#include "graph/attributes.h"
#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// `strides`, `pads`, `dilations` and `auto_pad`; those that the node lacks are omitted.
Attributes window_attributes(Call& c);
/// The same with `kernel_shape` and `ceil_mode`, which pools have; nothing after a mistake.
std::optional<Attributes> pool_attributes(Call& c);

/// Moves the channels from the end to the place behind the batch if `last`, as convolutions and pools take them; or back to the end.
Part channels_first(Call& c, const Part& x, bool last);
Part channels_back(Call& c, const Part& x, bool last);

}  // namespace cleave::models::onnx
