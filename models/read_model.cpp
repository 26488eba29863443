// The door of the readers: which of them reads a file.
#include "models/onnx/onnx_model.h"
#include "models/reader/model_file.h"

namespace cleave {

Graph read_model(const std::string& path, const ModelOptions& options) {
  return path.ends_with(".onnx") ? models::read_onnx(path, options) : models::read_yaml(path, options);
}

}  // namespace cleave
