// Graph::save and Graph::load: the text form in a file.
#include "graph/base/exceptions.h"
#include "graph/base/file.h"
#include "graph/text/text.h"

namespace cleave {

Status Graph::save(const std::string& path) const {
  return detail::guard_memory([&]() -> Status {
    const std::string text = print(*this);
    if (static_cast<std::int64_t>(text.size()) > file_limit::kGraph)
      return Error{"cannot write `" + path + "`: the program takes more than a file that can be read again may have", {}, ErrorKind::file};
    return write_file(path, {text});
  });
}

Result<Graph> Graph::load(const std::string& path) {
  return detail::guard_memory([&]() -> Result<Graph> {
    Result<std::string> text = read_file(path, file_limit::kGraph);
    if (!text) return text.error();
    return parse_graph(*text, path);
  });
}

}  // namespace cleave
