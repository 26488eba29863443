// Diagnostics and source locations as JSON: the fields of `explain --json` and `check --json`, and the document that reports errors.
#pragma once

#include <functional>
#include <string>

#include "graph/base/diagnostic_fingerprint.h"
#include "graph/base/json_writer.h"
#include "graph/base/source_lines.h"

namespace cleave {

/// Writes locations into a document; reads each source file at most once, to find the end of the marked text.
class JsonLocations {
 public:
  explicit JsonLocations(JsonWriter& json) : json_(json) {}
  /// `{file, line, column}`, or null if it is unknown; also `end_line` and `end_column` if known, and `via`, a list of `{in, location}`,
  /// for locations inside scopes or calls. `length` in bytes; 0: the word there.
  void write(const SourceLocation& location, int length = 0);
  /// The same as the value of the key `location`.
  void field(const SourceLocation& location, int length = 0);

 private:
  void position(const SourceLocation& location, int length);

  JsonWriter& json_;
  SourceLines lines_;
};

/// `{id, title, saved_seconds, file, edits}`; columns of edits in bytes.
void write_json(JsonWriter& json, const Fix& fix);
/// A list of `{kind, severity, message, location, statement, fingerprint, notes, fixes}`.
void write_json(JsonWriter& json, const Diagnostics& diagnostics, const StatementOf& statement_of = nullptr,
                const std::vector<Fix>& fixes = {});
/// The document `{cleave, diagnostics}`; `more` writes further fields of it.
std::string diagnostics_json(const Diagnostics& diagnostics, const StatementOf& statement_of = nullptr,
                             const std::function<void(JsonWriter&)>& more = nullptr, const std::vector<Fix>& fixes = {});

}  // namespace cleave
