// SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0). Columns are counted in code points, as the document declares.
#include <nlohmann/json.hpp>

#include "graph/base/diagnostic_text.h"
#include "graph/base/source_lines.h"

namespace cleave {
namespace {

using Json = nlohmann::ordered_json;

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
  Json result(const Diagnostic& diagnostic) {
    Json result{{"ruleId", info(diagnostic.kind).name}, {"ruleIndex", static_cast<int>(diagnostic.kind)}};
    result["level"] = level_of(diagnostic.severity);
    result["message"]["text"] = diagnostic.message;
    if (diagnostic.location.file) result["locations"].push_back(location(diagnostic.location, diagnostic.length));
    Json related = Json::array();
    chain(diagnostic.location, related);
    for (const Note& note : diagnostic.notes) {
      related.push_back(location(note.location, note.length, &note.message));
      if (note.location.via != diagnostic.location.via) chain(note.location, related);
    }
    if (!related.empty()) result["relatedLocations"] = std::move(related);
    if (diagnostic.severity == Severity::allowed) result["suppressions"].push_back({{"kind", "inSource"}});
    return result;
  }

 private:
  Json location(const SourceLocation& where, int length, const std::string* message = nullptr) {
    Json location = Json::object();
    if (where.file) {
      Json& physical = location["physicalLocation"];
      physical["artifactLocation"]["uri"] = uri_of(where.file_name());
      if (where.line > 0) physical["region"] = region(where, length);
    }
    if (message) location["message"]["text"] = *message;
    return location;
  }

  Json region(const SourceLocation& where, int length) {
    Json region{{"startLine", where.line}};
    if (where.column <= 0) return region;
    const auto begin = static_cast<std::size_t>(where.column) - 1;
    const std::size_t end = begin + static_cast<std::size_t>(std::max(length, 0));
    const std::string* line = lines_.line(where.file_name(), where.line);
    auto column = [&](std::size_t bytes) { return 1 + (line && bytes <= line->size() ? count_characters(*line, bytes) : bytes); };
    region["startColumn"] = column(begin);
    if (length > 0) region["endColumn"] = column(end);
    return region;
  }

  void chain(const SourceLocation& where, Json& related) {
    for (const SourceFrame* frame = where.via.get(); frame; frame = frame->location.via.get()) {
      const std::string message = "in `" + frame->label + "`, from here";
      related.push_back(location(frame->location, 0, &message));
    }
  }

  SourceLines lines_;
};

}  // namespace

std::string to_sarif(const Diagnostics& diagnostics) {
  Json driver{{"name", "cleave"}, {"rules", Json::array()}};
  for (const DiagnosticKindInfo& kind : diagnostic_kinds()) {
    Json rule{{"id", kind.name}, {"shortDescription", {{"text", kind.summary}}}};
    rule["defaultConfiguration"] = {{"enabled", kind.severity.has_value()}, {"level", level_of(kind.severity.value_or(Severity::warning))}};
    driver["rules"].push_back(std::move(rule));
  }
  Writer writer;
  Json results = Json::array();
  for (const Diagnostic& diagnostic : diagnostics) results.push_back(writer.result(diagnostic));
  Json run{{"tool", {{"driver", std::move(driver)}}}, {"columnKind", "unicodeCodePoints"}, {"results", std::move(results)}};
  Json document{
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}, {"runs", Json::array({std::move(run)})}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cleave
