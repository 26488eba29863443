// An ONNX file -> Graph (https://onnx.ai/onnx/repo-docs/IR.html).
#pragma once

#include <string>

#include "models/model.h"

namespace cleave::models {

Graph read_onnx(const std::string& path, const ModelOptions& options);

}  // namespace cleave::models
