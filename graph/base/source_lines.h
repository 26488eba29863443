// SourceLines: lines of the user's files, for display under a diagnostic. Each file is read once. An unreadable file has no lines,
// unless a reader of other sources knows it, nor has a file named by a model that must not be shown (named_file.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/named_file.h"
#include "graph/base/source_location.h"

namespace cleave {

class SourceLines {
 public:
  /// The line where `location` is, without its end, or null if there is none.
  const std::string* line(const SourceLocation& location) { return line(location, location.line); }
  /// Line `line` (from 1) of the file where `location` is.
  const std::string* line(const SourceLocation& location, int line);

 private:
  struct Read {
    std::shared_ptr<const FileRoots> roots;  ///< those of the name; null where the file may lie anywhere
    std::vector<std::string> lines;
  };
  std::multimap<std::string, Read, std::less<>> files_;  ///< by name
};

/// Gives the text of a source that is no file, such as a cell of a notebook, by the name that locations have for it; or nothing.
using SourceReader = std::function<std::optional<std::string>(const std::string& name)>;
/// From now on `reader` is asked for files that cannot be opened. To be set before the first message is made; any thread may call it.
void set_source_reader(SourceReader reader);

/// A piece of a source line for display in a terminal, and the position of the marked bytes in it, in characters.
struct Excerpt {
  std::string text;
  std::size_t begin = 0;
  std::size_t length = 1;
};
/// `column` from 1 in bytes; `length` in bytes, 0: the word there. Tabs and control characters become spaces, bytes that are no UTF-8
/// become U+FFFD, and a very long line is cut to the surroundings of the mark.
Excerpt excerpt(std::string_view line, int column, int length);

/// How many bytes of a line the mark at `column` (from 1, in bytes) takes: `length`, or if that is 0 the word there; not beyond its end.
std::size_t marked_bytes(std::string_view line, int column, int length);

/// Characters (code points) among the first `bytes` bytes of a line.
std::size_t count_characters(std::string_view line, std::size_t bytes);

}  // namespace cleave
