#include "graph/base/diagnostic_json.h"

#include "graph/base/version.h"

namespace cleave {

void JsonLocations::write(const SourceLocation& location, int length) {
  if (!location.file) return json_.value(nullptr);
  json_.object([&] {
    position(location, length);
    if (!location.via) return;
    json_.list("via", [&] {
      for (const SourceFrame* frame = location.via.get(); frame; frame = frame->location.via.get()) {
        json_.object([&] {
          json_.field("in", frame->label);
          json_.key("location");
          if (!frame->location.file) return json_.value(nullptr);
          json_.object([&] { position(frame->location, 0); });
        });
      }
    });
  });
}

void JsonLocations::field(const SourceLocation& location, int length) {
  json_.key("location");
  write(location, length);
}

void JsonLocations::position(const SourceLocation& location, int length) {
  json_.field("file", location.file_name());
  json_.field("line", location.line);
  json_.field("column", location.column);
  if (location.line <= 0 || location.column <= 0) return;
  const std::string* line = lines_.line(location);
  const bool there = line && static_cast<std::size_t>(location.column) <= line->size() + 1;
  if (!there && length <= 0) return;
  json_.field("end_line", location.line);
  json_.field("end_column", location.column + (there ? static_cast<int>(marked_bytes(*line, location.column, length)) : length));
}

void write_json(JsonWriter& json, const Diagnostics& diagnostics, const StatementOf& statement_of) {
  const std::vector<std::string> prints = fingerprints(diagnostics, statement_of);
  JsonLocations locations(json);
  json.list([&] {
    auto print = prints.begin();
    for (const Diagnostic& diagnostic : diagnostics) {
      json.object([&] {
        json.field("kind", info(diagnostic.kind).name);
        json.field("severity", to_string(diagnostic.severity));
        json.field("message", diagnostic.message);
        locations.field(diagnostic.location, diagnostic.length);
        const std::string statement = statement_of ? statement_of(diagnostic.location) : "";
        json.field("statement", statement.empty() ? std::nullopt : std::optional(statement));
        json.field("fingerprint", *print++);
        json.list("notes", [&] {
          for (const Note& note : diagnostic.notes) {
            json.object([&] {
              json.field("message", note.message);
              locations.field(note.location, note.length);
            });
          }
        });
      });
    }
  });
}

std::string diagnostics_json(const Diagnostics& diagnostics, const StatementOf& statement_of,
                             const std::function<void(JsonWriter&)>& more) {
  std::string text;
  JsonWriter json(text, 2);
  json.object([&] {
    json.field("cleave", kVersion);
    json.key("diagnostics");
    write_json(json, diagnostics, statement_of);
    if (more) more(json);
  });
  return text + "\n";
}

}  // namespace cleave
