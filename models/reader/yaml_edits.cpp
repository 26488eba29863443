#include "models/reader/yaml_edits.h"

#include <algorithm>

namespace cleave::models {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool blank(std::string_view text) {
  return text.find_first_not_of(kBlanks) == std::string_view::npos;
}

}  // namespace

std::size_t YamlEditor::next_line(std::size_t offset) const {
  const std::size_t end = source_.text().find('\n', offset);
  return end == std::string::npos ? source_.text().size() : end + 1;
}

std::size_t YamlEditor::indentation(std::size_t begin) const {
  const std::size_t end = source_.text().find_first_not_of(' ', begin);
  return std::min(end, source_.text().size()) - begin;
}

std::string YamlEditor::line_break(std::size_t begin) const {
  std::size_t end = source_.text().find('\n', begin);
  if (end == std::string::npos) end = source_.text().find('\n');
  return end != std::string::npos && end > 0 && source_.text()[end - 1] == '\r' ? "\r\n" : "\n";
}

std::optional<Replacement> YamlEditor::without_entry(const YamlNode& map, const YamlEntry& entry) const {
  const auto index = static_cast<std::size_t>(&entry - map.entries.data());
  if (map.entries.size() < 2 || !entry.value.scalar()) return std::nullopt;
  return map.flow ? without_flow_entry(map, entry, index) : without_block_entry(map, entry, index);
}

std::optional<Replacement> YamlEditor::without_block_entry(const YamlNode& map, const YamlEntry& entry, std::size_t index) const {
  const std::string& text = source_.text();
  const std::size_t begin = entry.key.span.begin, end = entry.value.span.end, line = source_.line_begin(begin);
  if (index == 0) {  // the next entry takes its place behind the `- `
    const std::size_t next = map.entries[1].key.span.begin;
    if (!blank(source_.at({end, next}))) return std::nullopt;
    return Replacement{{begin, next}, ""};
  }
  if (!blank(source_.at({line, begin}))) return std::nullopt;
  const std::size_t rest = text.find_first_not_of(" \t\r", end);
  if (rest == std::string::npos || text[rest] == '\n') {
    if (next_line(end) < text.size() || text.back() == '\n') return Replacement{{line, next_line(end)}, ""};
    const std::size_t before =
        line > 1 && text[line - 2] == '\r' ? line - 2 : line - 1;  // the last line has no line break, so the one before it is removed
    return Replacement{{before, text.size()}, ""};
  }
  if (text[rest] != '#') return std::nullopt;
  return Replacement{{begin, rest}, ""};  // the comment keeps its line
}

std::optional<Replacement> YamlEditor::without_flow_entry(const YamlNode& map, const YamlEntry& entry, std::size_t index) const {
  const std::size_t begin = entry.key.span.begin, end = entry.value.span.end;
  if (index == 0) {
    const std::size_t next = map.entries[1].key.span.begin;
    const std::string_view between = source_.at({end, next});
    if (between.find(',') == std::string_view::npos || between.find_first_not_of(" \t\r\n,") != std::string_view::npos) return std::nullopt;
    return Replacement{{begin, next}, ""};
  }
  const std::size_t comma = source_.text().find_last_not_of(kBlanks, begin - 1);
  if (comma == std::string::npos || source_.text()[comma] != ',') return std::nullopt;
  return Replacement{{comma, end}, ""};
}

std::optional<Lines> YamlEditor::lines_of_item(const YamlNode& item) const {
  const std::string& text = source_.text();
  const std::size_t line = source_.line_begin(item.span.begin), dash = text.find_first_not_of(' ', line);
  if (text[dash] != '-' || text.find_first_not_of(' ', dash + 1) != item.span.begin) return std::nullopt;
  std::size_t end = next_line(item.span.begin);
  for (std::size_t at = end; at < text.size(); at = next_line(at)) {
    const std::string_view rest = trimmed(source_.at({at, next_line(at)}));
    if (rest.empty() || rest.front() == '#') continue;
    if (indentation(at) <= dash - line) break;
    end = next_line(at);
  }
  return Lines{line, end};
}

Lines YamlEditor::with_comments_above(Lines lines) const {
  const std::size_t depth = indentation(lines.begin);
  while (lines.begin > 0) {
    const std::size_t above = source_.line_begin(lines.begin - 1);
    if (indentation(above) != depth || source_.text()[above + depth] != '#') break;
    lines.begin = above;
  }
  return lines;
}

std::string YamlEditor::moved_left(Lines lines, std::size_t blanks) const {
  std::string moved;
  for (std::size_t at = lines.begin; at < lines.end; at = next_line(at)) {
    moved += source_.at({at + std::min(blanks, indentation(at)), next_line(at)});
  }
  if (!moved.ends_with('\n')) moved += line_break(lines.begin);
  return moved;
}

TextEdit YamlEditor::edit(const Replacement& replacement) const {
  const SourceLocation begin = source_.location(replacement.span.begin), end = source_.location(replacement.span.end);
  return {begin.line, begin.column, end.line, end.column, replacement.text};
}

}  // namespace cleave::models
