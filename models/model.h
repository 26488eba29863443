// Readers of model files: YAML (models/reader) and ONNX (models/onnx) -> Graph. Mistakes in a model are returned as diagnostics at the
// user's line.
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
#include "models/operator_function.h"

namespace cleave {

/// Nodes of an ONNX model to pin to the host, following the placement rules of ONNX Runtime with CUDA.
enum class OrtPins : std::uint8_t {
  none,
  kernels,    ///< nodes without a CUDA kernel in ONNX Runtime: `--accelerator-ops ort-cuda-1.31`
  placement,  ///< those, and nodes that compute shapes: `--placement onnxruntime`
};

/// The versions of ONNX Runtime whose tables of CUDA kernels are known.
enum class OrtVersion : std::uint8_t { v1_23, v1_31 };

/// `read_model("model.yaml", {.dims = {{"batch", 64}}})`
struct ModelOptions {
  std::map<std::string, std::int64_t> dims;  ///< sizes that replace the model's defaults, as `--dim batch=64`

  // For ONNX models only.
  /// Initializers that become parameters, which are states: names, patterns with `*` and `?`, or `all`, as `--parameters all`. An input of
  /// the file that has an initializer of its own stays one.
  std::vector<std::string> parameters = {};
  /// Folders, besides the model's own, from which files may be shown as source that the model names, as `--source-root DIR`.
  std::vector<std::string> source_roots = {};
  /// Shapes of inputs, as `--shape x=1,3,?`; an extent that is left open here stays as the model declares it.
  std::map<std::string, std::vector<std::optional<std::int64_t>>> shapes;
  /// Shapes of the arrays that will be passed as inputs: open sizes of the model take these values.
  std::map<std::string, Shape> input_shapes;
  /// Inputs that have the same value in every run, as `--constant sizes=[1, 4]`: an Array, or a value in the command line's notation.
  std::map<std::string, std::variant<std::string, Array>> constants;
  /// Upper bounds on result sizes that depend on data, by node, as `--bound NODE=100`.
  std::map<std::string, std::int64_t> bounds;
  /// Unknown operators that are taken as host functions with the result types that the file declares: for plans, not for runs.
  std::set<std::string> assume_host;
  /// Host functions that compute the nodes of an operator, by its name with its domain, as `--host-function com.acme.Scale=lib.so:scale`.
  /// They take precedence over cleave's own reading of an operator. One that no node needs is an error.
  std::map<std::string, OperatorFunction> host_functions = {};
  OrtPins pins = OrtPins::none;
  OrtVersion onnxruntime = OrtVersion::v1_31;  ///< whose kernels count for `pins`
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
/// The declared inputs of a model file, for callers with arrays of other sizes; empty if they cannot be read. Reports no mistakes:
/// read_model does.
std::vector<DeclaredInput> declared_inputs(const std::string& path);

/// A YAML model from text; relative paths in it are resolved against the folder of `file`.
Graph parse_model(std::string_view text, const std::string& file, const ModelOptions& options = {});
/// An ONNX model from the bytes of its file, which are copied; external data are looked for in the folder of `file`.
Graph parse_onnx(std::string_view bytes, const std::string& file, const ModelOptions& options = {});

}  // namespace cleave
