// Edits of a model's text that keep all other text byte for byte: comments, order, indentation, line ends.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/base/fix.h"
#include "models/reader/yaml_tree.h"

namespace cleave::models {

/// Replacement of a span of bytes by a text.
struct Replacement {
  Span span;
  std::string text;
};

/// A range of whole lines: [begin, end), including the line break of the last one.
struct Lines {
  std::size_t begin = 0, end = 0;
};

class YamlEditor {
 public:
  explicit YamlEditor(const Source& source) : source_(source) {}

  /// Removes an entry from a map that has other entries. A comment behind the entry stays. Nothing if the edit would remove a comment.
  [[nodiscard]] std::optional<Replacement> without_entry(const YamlNode& map, const YamlEntry& entry) const;
  /// The lines of an item of a list in block style, without the comments above and below. Nothing if the item shares a line with text other
  /// than its own `- `.
  [[nodiscard]] std::optional<Lines> lines_of_item(const YamlNode& item) const;
  /// `lines`, extended by the comments directly above that have the same indentation.
  [[nodiscard]] Lines with_comments_above(Lines lines) const;
  /// The number of blanks at the start of the line at `begin`.
  [[nodiscard]] std::size_t indentation(std::size_t begin) const;
  /// `lines` with `blanks` fewer blanks of indentation; lines with less indentation lose all of it.
  [[nodiscard]] std::string moved_left(Lines lines, std::size_t blanks) const;
  /// The line break ("\r
  /// " or "
  /// ") of the line at `begin`, or of the file's first line.
  [[nodiscard]] std::string line_break(std::size_t begin) const;
  [[nodiscard]] TextEdit edit(const Replacement& replacement) const;

 private:
  /// The offset behind the line's end, including its line break.
  [[nodiscard]] std::size_t next_line(std::size_t offset) const;
  [[nodiscard]] std::optional<Replacement> without_block_entry(const YamlNode& map, const YamlEntry& entry, std::size_t index) const;
  [[nodiscard]] std::optional<Replacement> without_flow_entry(const YamlNode& map, const YamlEntry& entry, std::size_t index) const;

  const Source& source_;
};

}  // namespace cleave::models
