// Reader of YAML model files -> Graph.
#pragma once

#include <string>

#include "models/model.h"

namespace cleave::models {

Graph read_yaml(const std::string& path, const ModelOptions& options);
/// The inputs with their types as written; empty if the file cannot be read.
std::vector<DeclaredInput> yaml_inputs(const std::string& path);
std::vector<DeclaredInput> yaml_inputs_of(std::string_view text, const std::string& file);

}  // namespace cleave::models
