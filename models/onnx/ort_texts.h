// The tables of ONNX Runtime's CUDA kernels (ort_cuda_kernels_VERSION.json), compiled in.
#pragma once

#include <span>

#include "graph/base/embedded_text.h"

namespace cleave::models::onnx {

std::span<const EmbeddedText> ort_texts();

}  // namespace cleave::models::onnx
