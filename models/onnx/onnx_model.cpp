// Reads an ONNX file in order: its bytes, its messages, its versions, its graph. Entry point: read_onnx.
#include "models/onnx/onnx_model.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "graph/base/exceptions.h"
#include "graph/base/float_environment.h"
#include "graph/base/mapped_file.h"
#include "models/failed.h"
#include "models/onnx/graph_reader.h"
#include "models/onnx/table.h"

namespace cleave {
namespace models {
namespace {

using namespace onnx;

constexpr int kMostReadings = 8;            ///< each but the last one finds arms that cannot be read
constexpr std::int64_t kNewestFormat = 14;  ///< IR_VERSION of onnx 1.23

std::string model_name(const std::string& file, const ModelProto& model) {
  const std::string name(graph_name(model.graph));
  return name.empty() || name == "main_graph" || name == "torch_jit" || name == "main" ? std::filesystem::path(file).stem().string() : name;
}

/// The mistake in the file's versions, or empty.
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

/// "f32[batch, 4]"; names that are no identifiers (`batch + 1`) are shown as unnamed sizes.
std::string declared_type(DType dtype, const std::vector<Dimension>& dims) {
  const auto is_name = [](std::string_view name) {
    const auto letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    return !name.empty() && letter(name[0]) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
  };
  std::string sizes;
  for (const Dimension& dim : dims)
    sizes += (sizes.empty() ? "" : ", ") + (dim.size ? std::to_string(*dim.size) : is_name(dim.name) ? std::string(dim.name) : "?");
  return std::string(to_string(dtype)) + "[" + sizes + "]";
}

/// The pins of the nodes that a rule keeps on the host.
std::vector<Pin> host_pins(const std::vector<NodeRecord>& records, OrtPins rule) {
  std::vector<Side> sides;
  if (rule == OrtPins::placement) sides = place_as_onnxruntime(records).sides;
  std::vector<Pin> pins(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!ort_has_cuda_kernel(records[i]))
      pins[i] = {Side::host, "ONNX Runtime has no CUDA kernel for " + op_and_types(records[i]), true};
    else if (!sides.empty() && sides[i] == Side::host)
      pins[i] = {Side::host, "ONNX Runtime leaves it there, as it computes shapes"};
  }
  return pins;
}

/// A file whose messages were checked (check_messages).
class File {
 public:
  File(std::string_view bytes, const std::string& path, const ModelOptions& options)
      : bytes_(bytes),
        path_(path),
        options_(options),
        model_(onnx::parse_model(bytes)),
        locations_(path, std::make_shared<const FileRoots>(path, options.source_roots)),
        tensors_(FileRoots(path)) {}

  [[nodiscard]] const ModelProto& model() const { return model_; }
  [[nodiscard]] Status unchanged() const { return tensors_.unchanged(); }

  /// The records of its nodes. The graph that is read for them is not usable.
  std::vector<NodeRecord> records() {
    ArmMistakes broken;
    for (int reading = 1;; ++reading) {
      std::vector<NodeRecord> records;
      ArmMistakes more = read_records(broken, reading >= kMostReadings, records);
      if (more.empty()) return records;
      broken = std::move(more);
    }
  }

  /// Reads the graph, again and again until no more unreadable arms are found.
  Graph graph() {
    std::vector<Pin> pins;
    if (options_.pins != OrtPins::none) pins = host_pins(records(), options_.pins);
    ArmMistakes broken;
    for (int reading = 1;; ++reading) {
      Tracer tracer(model_name(path_, model_));
      GraphReader reader(tracer, locations_, tensors_, model_, options_, bytes_.size());
      reader.arms().replace(broken);
      reader.pin(pins);
      ArmMistakes more = reader.read_model(reading >= kMostReadings);
      if (!more.empty()) {
        broken = std::move(more);
        continue;
      }
      if (!tracer.has_errors()) return finished(tracer, reader.arms().warnings());
      if (broken.empty()) return failed(path_, reader.mistakes());
      broken.clear();  // there are other mistakes too, so all are reported unchanged
      reading = kMostReadings;
    }
  }

 private:
  ArmMistakes read_records(const ArmMistakes& broken, bool last, std::vector<NodeRecord>& records) {
    Tracer tracer(path_);
    GraphReader reader(tracer, locations_, tensors_, model_, options_, bytes_.size());
    reader.arms().replace(broken);
    reader.keep_records(&records);
    return reader.read_model(last);
  }

  Graph finished(Tracer& tracer, const Diagnostics& warnings) {
    Graph graph = tracer.finish();
    graph.diagnostics.append(warnings);
    if (model_.ir_version > kNewestFormat)
      graph.diagnostics.add({DiagnosticKind::unsupported,
                             Severity::warning,
                             "the file is of version " + std::to_string(model_.ir_version) +
                                 " of the format, and cleave knows versions up to " + std::to_string(kNewestFormat) +
                                 "; what is new in it is not read",
                             locations_.whole_file(),
                             0,
                             {}});
    return graph;
  }

  std::string_view bytes_;
  const std::string& path_;
  const ModelOptions& options_;
  ModelProto model_;
  Locations locations_;
  Tensors tensors_;
};

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
  File file(bytes, path, options);
  if (std::string mistake = version_mistake(file.model()); !mistake.empty()) return refuse(DiagnosticKind::unsupported, std::move(mistake));
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
  std::vector<DeclaredInput> inputs;
  for_each(model.graph, kGraphInput, [&](std::string_view bytes) {
    const ValueInfo info = parse_value_info(bytes);
    const std::optional<DType> dtype = element_type(info.element_type);
    if (!initialized.contains(info.name) && dtype && info.dims)
      inputs.push_back({std::string(info.name), declared_type(*dtype, *info.dims)});
  });
  return inputs;
}

onnx::OrtPlacement onnxruntime_placement(const std::string& path, const ModelOptions& options) {
  const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file || !check_messages((*file)->bytes())) return {};
  return place_as_onnxruntime(File((*file)->bytes(), path, options).records());
}

}  // namespace models

Graph parse_onnx(std::string_view bytes, const std::string& file, const ModelOptions& options) {
  const StandardFloats standard;
  return detail::guard_memory_or([&] { return models::parse(bytes, nullptr, file, options); },
                                 [&] { return models::without_memory(file); });
}

}  // namespace cleave
