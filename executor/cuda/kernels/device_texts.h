// The device code that generated kernels begin with, compiled in as text: executor/cuda/kernels/device and graph/ops/random_bits.h.
#pragma once

#include <span>

#include "graph/base/embedded_text.h"

namespace cleave::runtime::cuda {

std::span<const EmbeddedText> device_texts();

}  // namespace cleave::runtime::cuda
