// The door of the readers: which of them reads a file.
#include "graph/base/exceptions.h"
#include "models/onnx/onnx_model.h"
#include "models/reader/model_file.h"

namespace cleave {

Graph read_model(const std::string& path, const ModelOptions& options) {
  return path.ends_with(".onnx") ? models::read_onnx(path, options) : models::read_yaml(path, options);
}

std::vector<DeclaredInput> declared_inputs(const std::string& path) {
  const auto inputs = [&] { return path.ends_with(".onnx") ? models::onnx_inputs(path) : models::yaml_inputs(path); };
  return detail::guard_memory_or(inputs, [] { return std::vector<DeclaredInput>(); });
}

}  // namespace cleave
