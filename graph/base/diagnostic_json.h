// Diagnostics and source locations as JSON: the fields of `explain --json` and `check --json`, and the document that reports errors.
#pragma once

#include <string>

#include "graph/base/diagnostic.h"
#include "graph/base/json_writer.h"

namespace cleave {

/// `{file, line, column}`; null where it is unknown.
void write_json(JsonWriter& json, const SourceLocation& location);
/// A list of `{kind, severity, message, location, notes}`.
void write_json(JsonWriter& json, const Diagnostics& diagnostics);
/// The document `{cleave, diagnostics}`.
std::string diagnostics_json(const Diagnostics& diagnostics);

}  // namespace cleave
