// A model file in YAML -> Graph.
#pragma once

#include <string>

#include "models/model.h"

namespace cleave::models {

Graph read_yaml(const std::string& path, const ModelOptions& options);
/// Inputs by the types that are written; of a file that cannot be read, none.
std::vector<DeclaredInput> yaml_inputs(const std::string& path);
std::vector<DeclaredInput> yaml_inputs_of(std::string_view text, const std::string& file);

}  // namespace cleave::models
