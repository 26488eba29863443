// An ONNX file -> Graph (https://onnx.ai/onnx/repo-docs/IR.html).
#pragma once

#include <string>

#include "models/model.h"
#include "models/onnx/ort_rule.h"

namespace cleave::models {

Graph read_onnx(const std::string& path, const ModelOptions& options);
/// Inputs that have no initializer; of a file that cannot be read, none.
std::vector<DeclaredInput> onnx_inputs(const std::string& path);
/// Where ONNX Runtime would run the nodes of a model that can be read, and what it would copy.
onnx::OrtPlacement onnxruntime_placement(const std::string& path, const ModelOptions& options);

}  // namespace cleave::models
