// YAML as a tree whose every node knows its bytes in the file. Door: parse_yaml. Tags, anchors, aliases, duplicate keys, several documents
// and absurd nesting are refused here, so that what comes out is plain lists, maps and scalars. The only user of yaml-cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/reader/source.h"

namespace cleave::models {

struct YamlEntry;

struct YamlNode {
  enum class Kind : std::uint8_t { missing, scalar, list, map, broken };  ///< broken: a mistake here has been reported
  enum class Style : std::uint8_t { plain, single_quoted, double_quoted, block };

  Kind kind = Kind::missing;
  Style style = Style::plain;  ///< scalars
  bool flow = false;           ///< a list or map in brackets
  bool many_lines = false;     ///< a scalar that goes over several lines
  Span span;                   ///< scalars: all of it, with quotes; others: where they begin
  std::string text;            ///< scalars: as YAML reads it
  std::vector<YamlNode> items;
  std::vector<YamlEntry> entries;

  [[nodiscard]] bool scalar() const { return kind == Kind::scalar; }
  [[nodiscard]] bool list() const { return kind == Kind::list; }
  [[nodiscard]] bool map() const { return kind == Kind::map; }
  [[nodiscard]] bool broken() const { return kind == Kind::broken; }
  [[nodiscard]] const YamlEntry* find(std::string_view key) const;
};

/// Keys are scalars.
struct YamlEntry {
  YamlNode key, value;
};

/// The document, or nothing if it is not YAML (then an error was added).
std::optional<YamlNode> parse_yaml(const Source& source, Errors& errors);

/// Other languages' `elif`, which models do not have.
[[nodiscard]] bool is_else_if(std::string_view key);

/// What a yaml-cpp exception at `offset` means in a model, and what to write instead.
void explain_yaml_error(const std::string& message, std::size_t offset, Errors& errors);

}  // namespace cleave::models
