// The entry point of the readers: chooses the YAML or the ONNX reader by the file's extension.
#include "graph/base/exceptions.h"
#include "graph/base/file.h"
#include "models/fixes.h"
#include "models/onnx/onnx_model.h"
#include "models/reader/model_file.h"

namespace cleave {

Graph read_model(const std::string& path, const ModelOptions& options) {
  return path.ends_with(".onnx") ? models::read_onnx(path, options) : models::read_yaml(path, options);
}

bool is_yaml_model(std::string_view path) {
  return !path.ends_with(".onnx") && !path.ends_with(".graph");
}

std::vector<Fix> find_model_fixes(const std::vector<Advice>& advice, const std::string& path, const std::string* text) {
  if (advice.empty() || !is_yaml_model(path)) return {};
  if (text) return find_fixes(advice, *text, path);
  const Result<std::string> read = read_file(path, file_limit::kModel, FileKind::regular);
  return read ? find_fixes(advice, *read, path) : std::vector<Fix>();
}

std::vector<DeclaredInput> declared_inputs(const std::string& path) {
  const auto inputs = [&] { return path.ends_with(".onnx") ? models::onnx_inputs(path) : models::yaml_inputs(path); };
  return detail::guard_memory_or(inputs, [] { return std::vector<DeclaredInput>(); });
}

}  // namespace cleave
