// Lines of the user's files, for showing them under a diagnostic. Each file is read once; one that cannot be read has no lines.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

class SourceLines {
 public:
  /// Line `line` (from 1) without its end, or null if there is none.
  const std::string* line(std::string_view file, int line);

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> files_;
};

/// A piece of a source line as a terminal may show it, and where the marked bytes lie in it, in characters.
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
