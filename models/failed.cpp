#include "models/failed.h"

#include <filesystem>
#include <memory>

#include "graph/base/exceptions.h"

namespace cleave::models {
namespace {

constexpr std::size_t kMostShown = 20;

SourceLocation whole(const std::string& file) {
  return {std::make_shared<const std::string>(file), 0, 0, nullptr};
}

Diagnostics shown(Diagnostics found) {
  found.sort();
  Diagnostics kept;
  std::size_t left_out = 0;
  const Diagnostic* last = nullptr;
  for (const Diagnostic& diagnostic : found) {
    const bool again = last && last->location == diagnostic.location && last->message == diagnostic.message;
    last = &diagnostic;
    if (again) continue;
    if (kept.size() < kMostShown)
      kept.add(diagnostic);
    else
      ++left_out;
  }
  if (left_out > 0) std::prev(kept.end())->notes.push_back({std::to_string(left_out) + " further mistakes are not shown", {}, 0});
  return kept;
}

}  // namespace

Graph failed(const std::string& file, Diagnostics diagnostics) {
  Graph graph;
  graph.name = std::filesystem::path(file).stem().string();
  graph.diagnostics = shown(std::move(diagnostics));
  return graph;
}

Graph without_memory(const std::string& file) {
  Diagnostics diagnostics;
  diagnostics.error(DiagnosticKind::machine, whole(file), detail::out_of_memory().message);
  return failed(file, std::move(diagnostics));
}

Graph unreadable(const std::string& file, const Error& error) {
  std::error_code failure;
  const bool folder = std::filesystem::is_directory(file, failure);
  Diagnostics diagnostics;
  diagnostics.error(error.kind == ErrorKind::machine ? DiagnosticKind::machine : DiagnosticKind::file, whole(file),
                    folder ? "`" + file + "` is a folder, not a model" : error.message);
  return failed(file, std::move(diagnostics));
}

}  // namespace cleave::models
