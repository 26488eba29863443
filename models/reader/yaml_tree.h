// YAML as a tree in which every node knows its bytes in the file. Entry point: parse_yaml. It rejects tags, anchors, aliases, duplicate
// keys, several documents and absurd nesting, so that the tree has only lists, maps and scalars. The only user of yaml-cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/reader/source.h"

namespace cleave::models {

struct YamlEntry;

struct YamlNode {
  enum class Kind : std::uint8_t { missing, scalar, list, map, broken };  ///< broken: the node has a mistake that was reported
  enum class Style : std::uint8_t { plain, single_quoted, double_quoted, block };

  Kind kind = Kind::missing;
  Style style = Style::plain;  ///< scalars
  bool flow = false;           ///< a list or map in brackets
  bool many_lines = false;     ///< a scalar that spans several lines
  Span span;                   ///< scalars: all of it, with quotes; others: where they begin
  std::string text;            ///< scalars: the value as YAML reads it
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

/// Whether `key` spells the `elif` of another language, which models do not have.
[[nodiscard]] bool is_else_if(std::string_view key);

/// Reports the yaml-cpp exception `message` at `offset` in terms of models, with advice how to write the text instead.
void explain_yaml_error(const std::string& message, std::size_t offset, Errors& errors);

}  // namespace cleave::models
