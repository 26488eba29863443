// SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0). Columns are counted in code points, as the document declares.
#include <algorithm>

#include "graph/base/diagnostic_text.h"
#include "graph/base/json_writer.h"
#include "graph/base/source_lines.h"

namespace cleave {
namespace {

/// A path as a URI reference: percent-encoded, with the scheme if it is absolute.
std::string uri_of(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    if (plain) {
      uri += c;
    } else {
      uri += '%';
      uri += kHex[byte >> 4];
      uri += kHex[byte & 15u];
    }
  }
  return uri;
}

std::string_view level_of(Severity severity) {
  if (severity == Severity::error) return "error";
  return severity == Severity::warning ? "warning" : "note";
}

class Writer {
 public:
  explicit Writer(JsonWriter& json) : json_(json) {}

  void document(const Diagnostics& diagnostics) {
    json_.object([&] {
      json_.field("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
      json_.field("version", "2.1.0");
      json_.list("runs", [&] {
        json_.object([&] {
          json_.object("tool", [&] { json_.object("driver", [&] { driver(); }); });
          json_.field("columnKind", "unicodeCodePoints");
          json_.list("results", [&] {
            for (const Diagnostic& diagnostic : diagnostics) json_.object([&] { result(diagnostic); });
          });
        });
      });
    });
  }

 private:
  void driver() {
    json_.field("name", "cleave");
    json_.list("rules", [&] {
      for (const DiagnosticKindInfo& kind : diagnostic_kinds()) {
        json_.object([&] {
          json_.field("id", kind.name);
          json_.object("shortDescription", [&] { json_.field("text", kind.summary); });
          json_.object("defaultConfiguration", [&] {
            json_.field("enabled", kind.severity.has_value());
            json_.field("level", level_of(kind.severity.value_or(Severity::warning)));
          });
        });
      }
    });
  }

  void result(const Diagnostic& diagnostic) {
    json_.field("ruleId", info(diagnostic.kind).name);
    json_.field("ruleIndex", static_cast<int>(diagnostic.kind));
    json_.field("level", level_of(diagnostic.severity));
    json_.object("message", [&] { json_.field("text", diagnostic.message); });
    if (diagnostic.location.file) {
      json_.list("locations", [&] { location(diagnostic.location, diagnostic.length); });
    }
    if (diagnostic.location.via || !diagnostic.notes.empty()) {
      json_.list("relatedLocations", [&] { related(diagnostic); });
    }
    if (diagnostic.severity != Severity::allowed) return;
    json_.list("suppressions", [&] { json_.object([&] { json_.field("kind", "inSource"); }); });
  }

  void related(const Diagnostic& diagnostic) {
    chain(diagnostic.location);
    for (const Note& note : diagnostic.notes) {
      location(note.location, note.length, &note.message);
      if (note.location.via != diagnostic.location.via) chain(note.location);
    }
  }

  void location(const SourceLocation& where, int length, const std::string* message = nullptr) {
    json_.object([&] {
      if (where.file) {
        json_.object("physicalLocation", [&] {
          json_.object("artifactLocation", [&] { json_.field("uri", uri_of(where.file_name())); });
          if (where.line > 0) json_.object("region", [&] { region(where, length); });
        });
      }
      if (message) json_.object("message", [&] { json_.field("text", *message); });
    });
  }

  void region(const SourceLocation& where, int length) {
    json_.field("startLine", where.line);
    if (where.column <= 0) return;
    const auto begin = static_cast<std::size_t>(where.column) - 1;
    const std::size_t end = begin + static_cast<std::size_t>(std::max(length, 0));
    const std::string* line = lines_.line(where.file_name(), where.line);
    const auto column = [&](std::size_t bytes) { return 1 + (line && bytes <= line->size() ? count_characters(*line, bytes) : bytes); };
    json_.field("startColumn", column(begin));
    if (length > 0) json_.field("endColumn", column(end));
  }

  void chain(const SourceLocation& where) {
    for (const SourceFrame* frame = where.via.get(); frame; frame = frame->location.via.get()) {
      const std::string message = "in `" + frame->label + "`, from here";
      location(frame->location, 0, &message);
    }
  }

  JsonWriter& json_;
  SourceLines lines_;
};

}  // namespace

std::string to_sarif(const Diagnostics& diagnostics) {
  std::string text;
  JsonWriter json(text, 2);
  Writer(json).document(diagnostics);
  return text + "\n";
}

}  // namespace cleave
