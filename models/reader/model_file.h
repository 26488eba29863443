// A model file in YAML -> Graph.
#pragma once

#include <string>

#include "models/model.h"

namespace cleave::models {

Graph read_yaml(const std::string& path, const ModelOptions& options);

}  // namespace cleave::models
