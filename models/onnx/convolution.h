// Lowerings of convolutions, including transposed and deformable ones, and of Col2Im; and the part that ONNX Runtime's share with Conv.
#pragma once

#include <optional>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// The attributes of `conv` by a weight [outputs, channels / group, window…], from a node that has those of Conv; nothing after a mistake.
std::optional<Attributes> conv_attributes(Call& c, const Part& weight);

}  // namespace cleave::models::onnx
