#include "graph/base/diagnostic_json.h"

#include "graph/base/version.h"

namespace cleave {

void write_json(JsonWriter& json, const SourceLocation& location) {
  if (!location.file) return json.value(nullptr);
  json.object([&] {
    json.field("file", location.file_name());
    json.field("line", location.line);
    json.field("column", location.column);
  });
}

void write_json(JsonWriter& json, const Diagnostics& diagnostics) {
  const auto place = [&](const SourceLocation& location) {
    json.key("location");
    write_json(json, location);
  };
  json.list([&] {
    for (const Diagnostic& diagnostic : diagnostics) {
      json.object([&] {
        json.field("kind", info(diagnostic.kind).name);
        json.field("severity", to_string(diagnostic.severity));
        json.field("message", diagnostic.message);
        place(diagnostic.location);
        json.list("notes", [&] {
          for (const Note& note : diagnostic.notes) {
            json.object([&] {
              json.field("message", note.message);
              place(note.location);
            });
          }
        });
      });
    }
  });
}

std::string diagnostics_json(const Diagnostics& diagnostics) {
  std::string text;
  JsonWriter json(text, 2);
  json.object([&] {
    json.field("cleave", kVersion);
    json.key("diagnostics");
    write_json(json, diagnostics);
  });
  return text + "\n";
}

}  // namespace cleave
