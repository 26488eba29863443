// The YAML reader: a model file -> Graph. The only code that knows YAML. Mistakes come back as diagnostics at the user's line and column.
#pragma once

#include <map>
#include <string>

#include "graph/base/diagnostic.h"
#include "graph/graph.h"

namespace cleave {

/// `read_model("model.yaml", {.dims = {{"batch", 64}}})`
struct ModelOptions {
  std::map<std::string, std::int64_t> dims;  ///< sizes in place of the model's defaults, as `--dim batch=64`
};

/// Reads `path`. Mistakes in the model, and a file that cannot be read, are errors in the graph's diagnostics. Loads no library.
///
///   Graph graph = read_model("model.yaml");
///   Result<Executable> program = compile(graph);  // an Error if the graph has errors
Graph read_model(const std::string& path, const ModelOptions& options = {});
/// The same from text; relative paths in it are resolved against the folder of `file`.
Graph parse_model(std::string_view text, const std::string& file, const ModelOptions& options = {});

}  // namespace cleave
