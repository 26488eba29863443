// Reader of the `limits:` section of a model.
#pragma once

#include "models/reader/evaluator.h"
#include "models/reader/yaml_tree.h"

namespace cleave::models {

Limits read_limits(const YamlNode& node, Evaluator& evaluator);

}  // namespace cleave::models
