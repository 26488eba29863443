// Graph::save and Graph::load: the text form in a file.
#include "graph/base/file.h"
#include "graph/text/text.h"

namespace cleave {

Status Graph::save(const std::string& path) const {
  return write_file(path, {print(*this)});
}

Result<Graph> Graph::load(const std::string& path) {
  Result<std::string> text = read_file(path);
  if (!text) return text.error();
  return parse_graph(*text, path);
}

}  // namespace cleave
