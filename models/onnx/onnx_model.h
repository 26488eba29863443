// Reader of ONNX files -> Graph (https://onnx.ai/onnx/repo-docs/IR.html).
#pragma once

#include <string>

#include "models/model.h"
#include "models/onnx/ort_rule.h"

namespace cleave::models {

Graph read_onnx(const std::string& path, const ModelOptions& options);
/// The inputs that have no initializer; empty if the file cannot be read.
std::vector<DeclaredInput> onnx_inputs(const std::string& path);
/// The sides on which ONNX Runtime would run the nodes of a readable model, and the values that it would copy.
onnx::OrtPlacement onnxruntime_placement(const std::string& path, const ModelOptions& options);

}  // namespace cleave::models
