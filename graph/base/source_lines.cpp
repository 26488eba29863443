#include "graph/base/source_lines.h"

#include <algorithm>
#include <utility>

#include "graph/base/file.h"
#include "graph/base/utf8.h"

namespace cleave {
namespace {

constexpr std::size_t kWidest = 240;  ///< largest number of bytes of a line that are shown
constexpr std::size_t kContext = 80;  ///< bytes shown before the mark if the line is cut

SourceReader& other_sources() {
  static auto* const forever = new SourceReader;  // never destroyed: messages may be made as long as there are threads
  return *forever;
}

std::optional<std::string> read_source(const std::string& name, const FileRoots* roots) {
  if (const Result<RegularFile> file = roots ? roots->open(name) : RegularFile::open(name)) {
    Result<std::string> content = file->read(file_limit::kText);
    return content ? std::optional(*std::move(content)) : std::nullopt;
  }
  return roots == nullptr && other_sources() ? other_sources()(name) : std::nullopt;
}

std::vector<std::string> read_lines(const std::string& name, const FileRoots* roots) {
  const std::optional<std::string> content = read_source(name, roots);
  if (!content) return {};
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < content->size();) {
    std::size_t end = std::min(content->find('\n', at), content->size());
    std::size_t stop = end > at && (*content)[end - 1] == '\r' ? end - 1 : end;
    lines.emplace_back(*content, at, stop - at);
    at = end + 1;
  }
  return lines;
}

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xc0u) == 0x80u;
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Piece piece = utf8_piece(text, at);
    if (!piece.well_formed)
      result += "\xef\xbf\xbd";
    else if (is_control_character(piece.character))
      result += ' ';
    else
      result += text.substr(at, piece.length);
    at += piece.length;
  }
  return result;
}

bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

std::size_t begin_of_mark(std::string_view line, int column) {
  return std::min(static_cast<std::size_t>(std::max(column, 1)) - 1, line.size());
}

}  // namespace

void set_source_reader(SourceReader reader) {
  other_sources() = std::move(reader);
}

const std::string* SourceLines::line(const SourceLocation& location, int line) {
  if (!location.file) return nullptr;
  const std::shared_ptr<const FileRoots> roots = stated_roots(location);
  const auto [first, last] = files_.equal_range(*location.file);
  auto found = std::find_if(first, last, [&](const auto& read) { return read.second.roots == roots; });
  if (found == last) found = files_.emplace(*location.file, Read{roots, read_lines(*location.file, roots.get())});
  const std::vector<std::string>& lines = found->second.lines;
  return line >= 1 && static_cast<std::size_t>(line) <= lines.size() ? &lines[static_cast<std::size_t>(line) - 1] : nullptr;
}

std::size_t count_characters(std::string_view line, std::size_t bytes) {
  bytes = std::min(bytes, line.size());
  std::size_t count = 0;
  for (std::size_t at = 0; at < bytes; ++count) at += utf8_piece(line, at).length;
  return count;
}

std::size_t marked_bytes(std::string_view line, int column, int length) {
  const std::size_t begin = begin_of_mark(line, column);
  if (length > 0) return std::min(static_cast<std::size_t>(length), line.size() - begin);
  std::size_t end = begin;
  while (end < line.size() && in_word(line[end])) ++end;
  return end - begin;
}

Excerpt excerpt(std::string_view line, int column, int length) {
  std::size_t begin = begin_of_mark(line, column);
  std::size_t end = begin + marked_bytes(line, column, length);
  std::size_t first = 0;
  if (line.size() > kWidest) {
    if (begin > kContext) first = begin - kContext;
    while (first < begin && continues(line[first])) ++first;
    std::size_t last = std::min(first + kWidest, line.size());
    while (last > begin && last < line.size() && continues(line[last])) --last;
    line = line.substr(0, last);
    end = std::min(end, last);
  }
  line.remove_prefix(first);
  begin -= first;
  end -= first;
  std::size_t before = count_characters(line, begin);
  std::size_t marked = count_characters(line, end) - before;
  return {printable(line), before, std::max<std::size_t>(marked, 1)};
}

}  // namespace cleave
