// Reads an ONNX file in order: its bytes, its messages, its versions, its weights, its graph. Entry point: read_onnx.
#include "models/onnx/onnx_model.h"

#include <algorithm>
#include <set>

#include "graph/base/exceptions.h"
#include "graph/base/float_environment.h"
#include "graph/base/mapped_file.h"
#include "models/failed.h"
#include "models/onnx/onnx_file.h"

namespace cleave {
namespace models {
namespace {

using namespace onnx;

/// `mapped`: the file mapping that holds the bytes; null if the caller owns them.
Graph parse(std::string_view bytes, const MappedFile* mapped, const std::string& path, const ModelOptions& options) {
  const auto refuse = [&](DiagnosticKind kind, std::string message) {
    Diagnostics mistakes;
    mistakes.error(kind, Locations(path).whole_file(), std::move(message));
    return failed(path, std::move(mistakes));
  };
  const auto changed = [&](const Status& external) -> std::optional<std::string> {
    if (const Status same = mapped ? mapped->unchanged() : Status(); !same) return same.error().message;
    return external ? std::nullopt : std::optional(external.error().message);
  };
  if (Status whole = check_messages(bytes); !whole) return refuse(DiagnosticKind::file, changed({}).value_or(whole.error().message));
  OnnxFile file(bytes, path, options);
  if (std::string mistake = file.version_mistake(); !mistake.empty()) return refuse(DiagnosticKind::unsupported, std::move(mistake));
  if (Status chosen = file.choose_weights(); !chosen) return refuse(DiagnosticKind::value, "--parameters: " + chosen.error().message);
  Graph graph = file.graph();
  // If the file changed meanwhile, any mistake found may come from a half-written file.
  if (std::optional<std::string> what = changed(file.unchanged())) return refuse(DiagnosticKind::file, *std::move(what));
  return graph;
}

Graph read(const std::string& path, const ModelOptions& options) {
  const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  return file ? parse((*file)->bytes(), file->get(), path, options) : unreadable(path, file.error());
}

}  // namespace

Graph read_onnx(const std::string& path, const ModelOptions& options) {
  const StandardFloats standard;
  return detail::guard_memory_or([&] { return read(path, options); }, [&] { return without_memory(path); });
}

std::vector<DeclaredInput> onnx_inputs(const std::string& path) {
  const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file || !check_messages((*file)->bytes())) return {};
  const ModelProto model = onnx::parse_model((*file)->bytes());
  std::set<std::string_view> initialized;
  for_each(model.graph, kGraphInitializer, [&](std::string_view bytes) { initialized.insert(parse_tensor(bytes).name); });
  for_each(model.graph, kGraphSparseInitializer,
           [&](std::string_view bytes) { initialized.insert(parse_sparse_tensor(bytes).values.name); });
  std::vector<DeclaredInput> inputs;
  for_each(model.graph, kGraphInput, [&](std::string_view bytes) {
    const ValueInfo info = parse_value_info(bytes);
    const std::optional<DType> dtype = carried_type(info.element_type);
    if (!initialized.contains(info.name) && dtype && info.dims)
      inputs.push_back({std::string(info.name), declared_type(*dtype, *info.dims)});
  });
  return inputs;
}

onnx::OrtPlacement onnxruntime_placement(const std::string& path, const ModelOptions& options) {
  const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file || !check_messages((*file)->bytes())) return {};
  return place_as_onnxruntime(OnnxFile((*file)->bytes(), path, options).records(), OrtKernels::of(options.onnxruntime));
}

}  // namespace models

Graph parse_onnx(std::string_view bytes, const std::string& file, const ModelOptions& options) {
  const StandardFloats standard;
  return detail::guard_memory_or([&] { return models::parse(bytes, nullptr, file, options); },
                                 [&] { return models::without_memory(file); });
}

}  // namespace cleave
