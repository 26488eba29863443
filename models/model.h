// Models from files: YAML (models/reader) and ONNX (models/onnx) -> Graph. Mistakes come back as diagnostics at the user's line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/array/array.h"
#include "graph/base/diagnostic.h"
#include "graph/graph.h"

namespace cleave {

/// What of an ONNX model is pinned to the host after the example of ONNX Runtime 1.23 with CUDA.
enum class OrtPins : std::uint8_t {
  none,
  kernels,    ///< nodes that it has no CUDA kernel for: `--accelerator-ops ort-cuda-1.23`
  placement,  ///< those, and nodes that compute shapes: `--placement onnxruntime`
};

/// `read_model("model.yaml", {.dims = {{"batch", 64}}})`
struct ModelOptions {
  std::map<std::string, std::int64_t> dims;  ///< sizes in place of the model's defaults, as `--dim batch=64`

  // For ONNX models only.
  /// Folders beside the model's own whose files may be shown as the source that the model names, as `--source-root DIR`.
  std::vector<std::string> source_roots = {};
  /// Shapes of inputs, as `--shape x=1,3,?`; an extent that is not given stays as the model declares it.
  std::map<std::string, std::vector<std::optional<std::int64_t>>> shapes;
  /// Shapes of what inputs will be given: sizes that are open take theirs from here.
  std::map<std::string, Shape> input_shapes;
  /// Inputs that are the same in every run, as `--constant sizes=[1, 4]`: an Array, or a value as it is written there.
  std::map<std::string, std::variant<std::string, Array>> constants;
  /// How large a result can become whose size depends on data, by node, as `--bound NODE=100`.
  std::map<std::string, std::int64_t> bounds;
  /// Operators that cleave does not know, taken as functions of the host that give what the file says: for plans, not for runs.
  std::set<std::string> assume_host;
  OrtPins pins = OrtPins::none;
};

/// Reads `path`: ONNX if it ends in `.onnx`, else YAML. Mistakes in the model, and a file that cannot be read, are errors in the graph's
/// diagnostics. Loads no library.
///
///   Graph graph = read_model("model.yaml");
///   Result<Executable> program = compile(graph);  // an Error if the graph has errors
Graph read_model(const std::string& path, const ModelOptions& options = {});
/// An input as a model declares it.
struct DeclaredInput {
  std::string name;
  std::string type;  ///< `f32[batch, 2]`: sizes that `dims` may change by their names, sizes that are open and have none as `?`
};
/// Those of a model file, for whoever has arrays of other sizes; none where they cannot be read. Says nothing about mistakes: read_model
/// does.
std::vector<DeclaredInput> declared_inputs(const std::string& path);

/// A YAML model from text; relative paths in it are resolved against the folder of `file`.
Graph parse_model(std::string_view text, const std::string& file, const ModelOptions& options = {});
/// An ONNX model from the bytes of its file, which are copied; external data are looked for in the folder of `file`.
Graph parse_onnx(std::string_view bytes, const std::string& file, const ModelOptions& options = {});

}  // namespace cleave
