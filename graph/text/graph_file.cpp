// Graph::save and Graph::load: the text form in a file. In the file, paths of data and libraries are relative to its folder, so that all
// may move together; in memory they are relative to the working directory of the program.
#include <filesystem>

#include "graph/base/exceptions.h"
#include "graph/base/file.h"
#include "graph/text/text.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

/// `path` made relative to the folder of `file`. An absolute path, or one for which this is impossible, is unchanged.
std::string seen_from(const std::string& path, const fs::path& file) {
  std::error_code error;
  const fs::path folder = fs::absolute(file, error).lexically_normal().parent_path();
  const fs::path whole = fs::absolute(path, error).lexically_normal();
  const fs::path relative = whole.lexically_relative(folder);
  return error || fs::path(path).is_absolute() || relative.empty() ? path : relative.string();
}

/// The inverse of seen_from: a path that is relative to the folder of `file`, made relative to the working directory.
std::string found_beside(const std::string& path, const fs::path& file) {
  return fs::path(path).is_absolute() ? path : (file.parent_path() / path).lexically_normal().string();
}

/// The graph with `change` applied to each path of a data file or library.
template <class Change>
Graph with_paths(Graph graph, const Change& change) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[NodeId(i)];
    const bool leaf = node.kind == NodeKind::input || node.kind == NodeKind::parameter;
    const auto* data = leaf ? node.attributes.get_if<std::string>("file") : nullptr;
    if (data) node.attributes.set("file", change(*data));
    const HostFunction* declared = node.host_function();
    if (!declared || declared->library.empty()) continue;
    auto function = std::make_shared<HostFunction>(*declared);
    function->library = change(declared->library);
    node.attributes.set("function", std::shared_ptr<const HostFunction>(std::move(function)));
  }
  return graph;
}

}  // namespace

Graph with_paths_beside(Graph graph, const std::string& file) {
  return with_paths(std::move(graph), [&](const std::string& read) { return seen_from(read, file); });
}

Graph with_paths_found(Graph graph, const std::string& file) {
  return with_paths(std::move(graph), [&](const std::string& read) { return found_beside(read, file); });
}

Status Graph::save(const std::string& path) const {
  return detail::guard_memory([&]() -> Status {
    const std::string text = print(with_paths_beside(*this, path));
    if (static_cast<std::int64_t>(text.size()) > file_limit::kGraph)
      return Error{"cannot write `" + path + "`: the program takes more than a file that can be read again may have", {}, ErrorKind::file};
    return write_file(path, {text});
  });
}

Result<Graph> Graph::load(const std::string& path) {
  return load_graph(path, {});
}

Result<Graph> load_graph(const std::string& path, const std::vector<std::string>& source_roots) {
  return detail::guard_memory([&]() -> Result<Graph> {
    Result<std::string> text = read_file(path, file_limit::kGraph);
    if (!text) return text.error();
    Result<Graph> graph = parse_graph(*text, path, source_roots);
    if (!graph) return graph;
    return with_paths_found(*std::move(graph), path);
  });
}

}  // namespace cleave
