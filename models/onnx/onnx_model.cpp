// The table of contents of an ONNX file: its bytes, its messages, the versions it is written in, its graph.
#include "models/onnx/onnx_model.h"

#include <filesystem>

#include "graph/base/exceptions.h"
#include "graph/base/mapped_file.h"
#include "models/failed.h"
#include "models/onnx/graph_reader.h"
#include "models/onnx/table.h"

namespace cleave {
namespace models {
namespace {

using namespace onnx;

std::string model_name(const std::string& file, const ModelProto& model) {
  const std::string name(graph_name(model.graph));
  return name.empty() || name == "main_graph" || name == "torch_jit" || name == "main" ? std::filesystem::path(file).stem().string() : name;
}

/// What there is to say about the versions.
std::string version_mistake(const ModelProto& model) {
  if (model.graph.empty()) return "the file holds no graph";
  for (const OpsetImport& import : model.opsets) {
    if (!import.domain.empty() && import.domain != "ai.onnx") continue;
    if (import.version >= kOldestVersion && import.version <= kNewestVersion) return "";
    return "operator set " + std::to_string(import.version) + " is not one of those that cleave reads, " + std::to_string(kOldestVersion) +
           " to " + std::to_string(kNewestVersion);
  }
  return model.opsets.empty() ? "the file does not say which operator set it is written in" : "";
}

Graph parse(std::string_view bytes, const std::shared_ptr<const MappedFile>& holder, const std::string& file, const ModelOptions& options) {
  Locations locations(file);
  Diagnostics mistakes;
  const auto refuse = [&](DiagnosticKind kind, std::string message) {
    mistakes.error(kind, locations.whole_file(), std::move(message));
    return failed(file, mistakes);
  };
  if (Status whole = check_messages(bytes); !whole) return refuse(DiagnosticKind::file, whole.error().message);
  const ModelProto model = onnx::parse_model(bytes);
  if (std::string mistake = version_mistake(model); !mistake.empty()) return refuse(DiagnosticKind::unsupported, std::move(mistake));
  const std::string folder = std::filesystem::path(file).parent_path().string();
  Tensors tensors(holder, folder.empty() ? "." : folder);
  Tracer tracer(model_name(file, model));
  GraphReader(tracer, locations, tensors, model, options, bytes.size()).read_model();
  return tracer.has_errors() ? failed(file, tracer.graph().diagnostics) : tracer.finish();
}

Graph read(const std::string& path, const ModelOptions& options) {
  const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  return file ? parse((*file)->bytes(), *file, path, options) : unreadable(path, file.error());
}

}  // namespace

Graph read_onnx(const std::string& path, const ModelOptions& options) {
  return detail::guard_memory_or([&] { return read(path, options); }, [&] { return without_memory(path); });
}

}  // namespace models

Graph parse_onnx(std::string_view bytes, const std::string& file, const ModelOptions& options) {
  return detail::guard_memory_or([&] { return models::parse(bytes, nullptr, file, options); },
                                 [&] { return models::without_memory(file); });
}

}  // namespace cleave
