#include "executor/arguments/kept_leaves.h"

#include <sys/stat.h>

#include <ctime>
#include <string>
#include <utility>

namespace cleave::runtime {

std::optional<KeptLeaves::FileState> KeptLeaves::state_of(const Node& node) {
  const auto* file = node.attributes.get_if<std::string>("file");
  if (!file || node.kind == NodeKind::parameter) return FileState{};
  struct stat found {};
  timespec now{};
  if (stat(file->c_str(), &found) != 0 || !S_ISREG(found.st_mode) || clock_gettime(CLOCK_REALTIME, &now) != 0) return std::nullopt;
  // A file that changed just now may change again unnoticed, or may have changed since it was read: file timestamps have a resolution of
  // ten milliseconds, or of whole seconds.
  const double age =
      static_cast<double>(now.tv_sec - found.st_ctim.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec - found.st_ctim.tv_nsec);
  if (age < (found.st_ctim.tv_nsec == 0 ? 3 : 0.05)) return std::nullopt;
  return FileState{static_cast<std::int64_t>(found.st_dev),
                   static_cast<std::int64_t>(found.st_ino),
                   found.st_size,
                   found.st_mtim.tv_sec,
                   found.st_mtim.tv_nsec,
                   found.st_ctim.tv_nsec};
}

std::optional<Array> KeptLeaves::find(const Graph& graph, NodeId node) const {
  const std::lock_guard lock(mutex_);
  const auto found = leaves_.find(node);
  if (found == leaves_.end() || !found->second.file || found->second.file != state_of(graph.nodes[node])) return std::nullopt;
  return found->second.array;
}

Array KeptLeaves::keep(const Graph& graph, NodeId node, Array array) {
  const std::optional<FileState> file = state_of(graph.nodes[node]);
  const std::lock_guard lock(mutex_);
  if (graph.nodes[node].kind == NodeKind::parameter) return leaves_.try_emplace(node, Leaf{std::move(array), file}).first->second.array;
  return leaves_.insert_or_assign(node, Leaf{std::move(array), file}).first->second.array;
}

}  // namespace cleave::runtime
