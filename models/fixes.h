// Turns the advice of diagnostics into edits of a YAML model's text (models/reader/fixes.cpp), and applies edits to a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/fix.h"

namespace cleave {

/// The edits that carry out `advice` in the YAML model `file`, whose text is `text`. Advice gives no edit where editing this text alone is
/// not enough: where it concerns another file, several places of this file, or a function with several calls.
std::vector<Fix> find_fixes(const std::vector<Advice>& advice, std::string_view text, const std::string& file);

/// Whether the model at `path` is read as YAML and thus has a text to edit: true except for `.onnx` and `.graph` files.
bool is_yaml_model(std::string_view path);

/// The same for the model at `path`. Its text is `text`; if `text` is null, it is read from `path`. No edits if the model is not a YAML
/// file, or if its text cannot be read twice (a pipe).
std::vector<Fix> find_model_fixes(const std::vector<Advice>& advice, const std::string& path, const std::string* text = nullptr);

/// `text` with `edits` applied; all other bytes stay unchanged.
std::string edited(std::string_view text, const std::vector<TextEdit>& edits);

}  // namespace cleave
