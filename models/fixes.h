// Advice of diagnostics as edits of a YAML model's text (models/reader/fixes.cpp), and the edited text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/fix.h"

namespace cleave {

/// The edits that advice comes to in the YAML model `file`, whose text is `text`. What no edit of this text alone can do gives none: advice
/// at other files, at several places of this one, or in a function that is called at several.
std::vector<Fix> find_fixes(const std::vector<Advice>& advice, std::string_view text, const std::string& file);

/// Whether the model at `path` is read as YAML, so that there is text to edit: all but `.onnx` and `.graph` files.
bool is_yaml_model(std::string_view path);

/// The same for the model at `path`, whose text is `text`, or where that is null is read from there. No edits where the model is no YAML
/// file, or its text cannot be read twice (a pipe).
std::vector<Fix> find_model_fixes(const std::vector<Advice>& advice, const std::string& path, const std::string* text = nullptr);

/// `text` with the edits made; every other byte stays as it is.
std::string edited(std::string_view text, const std::vector<TextEdit>& edits);

}  // namespace cleave
