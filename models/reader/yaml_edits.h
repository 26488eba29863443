// Edits of a model's text that leave what they do not touch byte for byte as it is: comments, order, indentation, line ends.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/base/fix.h"
#include "models/reader/yaml_tree.h"

namespace cleave::models {

/// One replacement, by offsets.
struct Replacement {
  Span span;
  std::string text;
};

/// Whole lines: [begin, end), with the last line's end.
struct Lines {
  std::size_t begin = 0, end = 0;
};

class YamlEditor {
 public:
  explicit YamlEditor(const Source& source) : source_(source) {}

  /// Takes an entry out of a map with other entries. A comment behind it stays. Nothing where that would take a comment along.
  [[nodiscard]] std::optional<Replacement> without_entry(const YamlNode& map, const YamlEntry& entry) const;
  /// The lines of an item of a list in block style, without the comments above and below. Nothing where it shares a line with another
  /// thing than its own `- `.
  [[nodiscard]] std::optional<Lines> lines_of_item(const YamlNode& item) const;
  /// The same with the comments right above it that stand as deep as it does.
  [[nodiscard]] Lines with_comments_above(Lines lines) const;
  /// Blanks in front of what stands on the line at `begin`.
  [[nodiscard]] std::size_t indentation(std::size_t begin) const;
  /// `lines` with so many blanks less in front of each; lines that have fewer lose all.
  [[nodiscard]] std::string moved_left(Lines lines, std::size_t blanks) const;
  /// "\r\n" or "\n": as the line at `begin` ends, or the first of the file.
  [[nodiscard]] std::string line_break(std::size_t begin) const;
  [[nodiscard]] TextEdit edit(const Replacement& replacement) const;

 private:
  /// Behind the end of the line, its line break included.
  [[nodiscard]] std::size_t next_line(std::size_t offset) const;
  [[nodiscard]] std::optional<Replacement> without_block_entry(const YamlNode& map, const YamlEntry& entry, std::size_t index) const;
  [[nodiscard]] std::optional<Replacement> without_flow_entry(const YamlNode& map, const YamlEntry& entry, std::size_t index) const;

  const Source& source_;
};

}  // namespace cleave::models
