// `limits:` of a model.
#pragma once

#include "models/evaluator.h"
#include "models/yaml_tree.h"

namespace cleave::models {

Limits read_limits(const YamlNode& node, Evaluator& evaluator);

}  // namespace cleave::models
