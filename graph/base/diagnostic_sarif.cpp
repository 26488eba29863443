// SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0). Columns are counted in code points, as the document declares. The message
// of a result contains the notes without a location (cost and remedies); notes with a location become related locations.
#include <algorithm>
#include <set>
#include <tuple>

#include "graph/base/diagnostic_fingerprint.h"
#include "graph/base/diagnostic_help.h"
#include "graph/base/diagnostic_text.h"
#include "graph/base/json_writer.h"
#include "graph/base/source_lines.h"
#include "graph/base/utf8.h"
#include "graph/base/version.h"

namespace cleave {
namespace {

constexpr const char* kSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

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

/// Lines and columns from 1; 0: not known.
struct Region {
  std::size_t line = 0, begin = 0, end = 0;
  friend auto operator<=>(const Region&, const Region&) = default;
};

class SarifWriter {
 public:
  explicit SarifWriter(JsonWriter& json) : json_(json) {}

  void document(const Diagnostics& diagnostics, const StatementOf& statement_of, const std::vector<Fix>& all_fixes) {
    const std::vector<std::string> prints = fingerprints(diagnostics, statement_of);
    json_.object([&] {
      json_.field("$schema", kSchema);
      json_.field("version", "2.1.0");
      json_.list("runs", [&] {
        json_.object([&] {
          json_.object("tool", [&] { json_.object("driver", [&] { driver(); }); });
          json_.field("columnKind", "unicodeCodePoints");
          json_.list("results", [&] {
            auto print = prints.begin();
            for (const Diagnostic& diagnostic : diagnostics)
              json_.object([&] { result(diagnostic, *print++, fixes_of(diagnostic, all_fixes)); });
          });
        });
      });
    });
  }

 private:
  void driver() {
    json_.field("name", "cleave");
    json_.field("version", kVersion);
    json_.field("semanticVersion", kVersion);
    json_.list("rules", [&] {
      for (const DiagnosticKindInfo& kind : diagnostic_kinds()) json_.object([&] { rule(kind); });
    });
  }

  void rule(const DiagnosticKindInfo& kind) {
    json_.field("id", kind.name);
    text_object("shortDescription", kind.summary);
    text_object("help", help_of(kind.kind));
    json_.field("helpUri", help_uri_of(kind.kind));
    json_.object("defaultConfiguration", [&] {
      json_.field("enabled", kind.severity.has_value());
      json_.field("level", level_of(kind.severity.value_or(Severity::warning)));
    });
  }

  void text_object(std::string_view key, std::string_view text) {
    json_.object(key, [&] { json_.field("text", text); });
  }

  void result(const Diagnostic& diagnostic, const std::string& fingerprint, const std::vector<const Fix*>& fixes) {
    json_.field("ruleId", info(diagnostic.kind).name);
    json_.field("ruleIndex", static_cast<int>(diagnostic.kind));
    json_.field("level", level_of(diagnostic.severity));
    text_object("message", message_of(diagnostic));
    if (diagnostic.location.file) {
      json_.list("locations", [&] { location(diagnostic.location, region_of(diagnostic.location, diagnostic.length)); });
    }
    related(diagnostic);
    json_.object("partialFingerprints", [&] { json_.field("cleaveCause/v2", fingerprint); });
    write_fixes(fixes);
    if (diagnostic.severity != Severity::allowed) return;
    json_.list("suppressions", [&] {
      json_.object([&] {
        json_.field("kind", "inSource");
        json_.field("status", "accepted");
        if (const std::string_view reason = reason_of_allowance(diagnostic); !reason.empty()) json_.field("justification", reason);
      });
    });
  }

  /// The observation, then one line each for its cost, its cause and its remedies.
  static std::string message_of(const Diagnostic& diagnostic) {
    std::string text = escape_controls_one_line(diagnostic.message);
    for (const Note& note : diagnostic.notes)
      if (!note.location.file) text += "\n" + escape_controls_one_line(note.message);
    return text;
  }

  /// The chain of calls and the notes with a location; each once, as SARIF requires.
  void related(const Diagnostic& diagnostic) {
    std::vector<std::tuple<SourceLocation, Region, std::string>> places;
    std::set<std::tuple<std::string, Region, std::string>> seen;
    const auto add = [&](const SourceLocation& where, int length, const std::string& message) {
      const Region region = region_of(where, length);
      if (where.file && seen.emplace(where.file_name(), region, message).second) places.emplace_back(where, region, message);
    };
    const auto add_chain = [&](const SourceLocation& where) {
      const SourceLocation* from = &where;
      for (const SourceFrame* frame = where.via.get(); frame; frame = frame->location.via.get()) {
        const bool moved = !(frame->location == *from);  // as in the text output
        add(frame->location, 0, scope_phrase(*frame) + (moved ? ", from here" : ""));
        from = &frame->location;
      }
    };
    add_chain(diagnostic.location);
    for (const Note& note : diagnostic.notes) {
      add(note.location, note.length, note.message);
      if (note.location.via != diagnostic.location.via) add_chain(note.location);
    }
    if (places.empty()) return;
    json_.list("relatedLocations", [&] {
      for (const auto& [where, region, message] : places) location(where, region, &message);
    });
  }

  /// Sections 3.55 to 3.57: each fix alone is sufficient. An insertion deletes a region without characters.
  void write_fixes(const std::vector<const Fix*>& fixes) {
    if (fixes.empty()) return;
    json_.list("fixes", [&] {
      for (const Fix* fix : fixes) {
        json_.object([&] {
          text_object("description", escape_controls_one_line(fix->title) + " (`cleave apply`: " + fix->shown_id() + ")");
          json_.list("artifactChanges", [&] { json_.object([&] { artifact_change(*fix); }); });
        });
      }
    });
  }

  void artifact_change(const Fix& fix) {
    const SourceLocation file{std::make_shared<const std::string>(fix.file), 0, 0, nullptr};
    const auto column = [&](int line, int bytes) {
      const std::string* text = lines_.line(file, line);
      return text ? 1 + count_characters(*text, static_cast<std::size_t>(bytes) - 1) : static_cast<std::size_t>(bytes);
    };
    json_.object("artifactLocation", [&] { json_.field("uri", uri_of(fix.file)); });
    json_.list("replacements", [&] {
      for (const TextEdit& edit : fix.edits) {
        json_.object([&] {
          json_.object("deletedRegion", [&] {
            json_.field("startLine", edit.line);
            json_.field("startColumn", column(edit.line, edit.column));
            json_.field("endLine", edit.end_line);
            json_.field("endColumn", column(edit.end_line, edit.end_column));
          });
          if (!edit.text.empty()) text_object("insertedContent", edit.text);
        });
      }
    });
  }

  void location(const SourceLocation& where, const Region& region, const std::string* message = nullptr) {
    json_.object([&] {
      json_.object("physicalLocation", [&] {
        json_.object("artifactLocation", [&] { json_.field("uri", uri_of(where.file_name())); });
        if (region.line == 0) return;
        json_.object("region", [&] {
          json_.field("startLine", region.line);
          if (region.begin > 0) json_.field("startColumn", region.begin);
          if (region.end > 0) json_.field("endColumn", region.end);
        });
      });
      if (message) text_object("message", *message);
    });
  }

  /// Without a length, marks the word there. If the file cannot be read, bytes are counted as characters.
  Region region_of(const SourceLocation& where, int length) {
    if (!where.file || where.line <= 0) return {};
    Region region{static_cast<std::size_t>(where.line), 0, 0};
    if (where.column <= 0) return region;
    const std::size_t before = static_cast<std::size_t>(where.column) - 1, bytes = static_cast<std::size_t>(std::max(length, 0));
    const std::string* line = lines_.line(where);
    if (!line || before > line->size()) {
      region.begin = before + 1;
      region.end = region.begin + bytes;
      return region;
    }
    region.begin = 1 + count_characters(*line, before);
    if (before == line->size())
      region.end = region.begin;
    else if (bytes > 0)
      region.end = 1 + count_characters(*line, before + bytes);
    else
      region.end = region.begin + excerpt(*line, where.column, 0).length;
    return region;
  }

  JsonWriter& json_;
  SourceLines lines_;
};

}  // namespace

std::string to_sarif(const Diagnostics& diagnostics, const StatementOf& statement_of, const std::vector<Fix>& fixes) {
  std::string text;
  JsonWriter json(text, 2);
  SarifWriter(json).document(diagnostics, statement_of, fixes);
  return text + "\n";
}

std::string to_sarif(const Diagnostics& diagnostics) {
  return to_sarif(diagnostics, nullptr);
}

}  // namespace cleave
