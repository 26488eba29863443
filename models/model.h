// The YAML reader: a model file -> Graph. The only code that knows YAML. Mistakes come back as diagnostics at the user's line and column.
#pragma once

#include <map>
#include <string>

#include "graph/base/diagnostic.h"
#include "graph/graph.h"

namespace cleave {

struct ModelOptions {
  std::map<std::string, std::int64_t> dims;  ///< `--dim batch=64`
};

/// Reads `path`. The graph has errors in its diagnostics if the model has (also if the file cannot be read). Loads no library.
Graph read_model(const std::string& path, const ModelOptions& options = {});
/// The same from text; relative paths in it are resolved against the folder of `file`.
Graph parse_model(std::string_view text, const std::string& file, const ModelOptions& options = {});

}  // namespace cleave
