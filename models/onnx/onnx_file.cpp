#include "models/onnx/onnx_file.h"

#include <algorithm>
#include <filesystem>

#include "graph/states.h"
#include "models/failed.h"
#include "models/onnx/graph_reader.h"
#include "models/onnx/ort_rule.h"
#include "models/onnx/table.h"
#include "models/onnx/weights.h"

namespace cleave::models::onnx {
namespace {

constexpr int kMostReadings = 8;            ///< each but the last one finds arms that cannot be read
constexpr std::int64_t kNewestFormat = 14;  ///< IR_VERSION of onnx 1.23

std::string model_name(const std::string& file, const ModelProto& model) {
  const std::string name(graph_name(model.graph));
  return name.empty() || name == "main_graph" || name == "torch_jit" || name == "main" ? std::filesystem::path(file).stem().string() : name;
}

/// The pins of the nodes that a rule keeps on the host.
std::vector<Pin> host_pins(const std::vector<NodeRecord>& records, const OrtKernels& kernels, OrtPins rule) {
  std::vector<Side> sides;
  if (rule == OrtPins::placement) sides = place_as_onnxruntime(records, kernels).sides;
  std::vector<Pin> pins(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].op == "Constant") continue;
    if (!kernels.contain(records[i]))
      pins[i] = {Side::host, "ONNX Runtime has no CUDA kernel for " + op_and_types(records[i]), true};
    else if (!sides.empty() && sides[i] == Side::host)
      pins[i] = {Side::host, "ONNX Runtime leaves it there, as it computes shapes"};
  }
  return pins;
}

}  // namespace

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

OnnxFile::OnnxFile(std::string_view bytes, const std::string& path, const ModelOptions& options)
    : bytes_(bytes),
      path_(path),
      options_(options),
      model_(parse_model(bytes)),
      locations_(path, std::make_shared<const FileRoots>(path, options.source_roots)),
      tensors_(FileRoots(path)) {}

std::string OnnxFile::version_mistake() const {
  if (model_.graph.empty()) return "the file holds no graph";
  for (const OpsetImport& import : model_.opsets) {
    if (!import.domain.empty() && import.domain != "ai.onnx") continue;
    if (import.version >= kOldestVersion && import.version <= kNewestVersion) return "";
    return "operator set " + std::to_string(import.version) + " is not one of those that cleave reads, " + std::to_string(kOldestVersion) +
           " to " + std::to_string(kNewestVersion);
  }
  return model_.opsets.empty() ? "the file does not say which operator set it is written in" : "";
}

Status OnnxFile::choose_weights() {
  Result<std::vector<TensorProto>> chosen = onnx::choose_weights(model_, options_.parameters);
  if (!chosen) return chosen.error();
  weights_ = *std::move(chosen);
  return {};
}

std::vector<NodeRecord> OnnxFile::records() {
  ArmMistakes broken;
  for (int reading = 1;; ++reading) {
    std::vector<NodeRecord> records;
    ArmMistakes more = read_records(broken, reading >= kMostReadings, records);
    if (more.empty()) return records;
    broken = std::move(more);
  }
}

Graph OnnxFile::graph(ArmMistakes* broken_arms) {
  std::vector<Pin> pins;
  if (options_.pins != OrtPins::none) pins = host_pins(records(), OrtKernels::of(options_.onnxruntime), options_.pins);
  ArmMistakes broken;
  for (int reading = 1;; ++reading) {
    Tracer tracer(model_name(path_, model_));
    GraphReader reader(tracer, locations_, tensors_, model_, options_, bytes_.size());
    reader.arms().replace(broken);
    reader.pin(pins);
    reader.train(weights_);
    ArmMistakes more = reader.read_model(reading >= kMostReadings);
    if (!more.empty()) {
      broken = std::move(more);
      continue;
    }
    if (broken_arms) *broken_arms = broken;
    if (!tracer.has_errors()) return finished(tracer, reader.warnings());
    if (broken.empty()) return failed(path_, reader.mistakes());
    broken.clear();  // there are other mistakes too, so all are reported unchanged
    reading = kMostReadings;
  }
}

Values OnnxFile::record(Tracer& tracer, const std::map<std::string_view, Operand>& given, const ArmMistakes& broken) {
  locations_.set_caller(tracer.chained({}).via);
  GraphReader reader(tracer, locations_, tensors_, model_, options_, bytes_.size());
  reader.arms().replace(broken);
  Values results = reader.read_call(given);
  locations_.set_caller(nullptr);
  return results;
}

ArmMistakes OnnxFile::read_records(const ArmMistakes& broken, bool last, std::vector<NodeRecord>& records) {
  Tracer tracer(path_);
  GraphReader reader(tracer, locations_, tensors_, model_, options_, bytes_.size());
  reader.arms().replace(broken);
  reader.keep_records(&records);
  return reader.read_model(last);
}

Graph OnnxFile::finished(Tracer& tracer, const Diagnostics& warnings) {
  Graph graph = tracer.finish();
  for (const TensorProto& weight : weights_) {
    if (!graph.ok()) break;
    if (const Status kept = keep_state(graph, weight.name, weight.name); !kept)
      graph.diagnostics.error(DiagnosticKind::value, locations_.named("initializer", weight.name), kept.error().message);
  }
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

}  // namespace cleave::models::onnx
