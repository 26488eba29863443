#include "graph/base/host_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace cleave {
namespace {

/// The number at the start of a file; nothing if there is none ("max" means no limit).
std::optional<std::int64_t> number_in(const std::string& path) {
  std::int64_t number = 0;
  std::ifstream file(path);
  return file >> number && number >= 0 ? std::optional(number) : std::nullopt;
}

/// "MemTotal:  16 kB": bytes.
std::optional<std::int64_t> meminfo(const std::string& root, std::string_view key) {
  std::ifstream file(root + "/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(key)) continue;
    std::istringstream words(line.substr(key.size()));
    std::int64_t kilobytes = 0;
    if (words >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

/// Applies smaller limits of the group `path` below `mount`, and of all enclosing groups.
void limit_by(HostMemory& memory, const std::string& mount, std::string path, const char* limit, const char* swap, bool swap_includes) {
  for (;;) {
    const std::string group = mount + (path == "/" ? "" : path);
    const std::optional<std::int64_t> most = number_in(group + "/" + limit);
    if (most && *most < memory.bytes) {
      memory.bytes = *most;
      memory.limited_by = group + "/" + limit;
    }
    if (std::optional<std::int64_t> swapped = number_in(group + "/" + swap)) {
      if (swap_includes) swapped = std::max<std::int64_t>(*swapped - most.value_or(0), 0);
      memory.swap_bytes = std::min(memory.swap_bytes, *swapped);
    }
    if (path.empty() || path == "/") return;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

bool among(std::string_view list, std::string_view wanted) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (list.substr(begin, end - begin) == wanted) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

HostMemory host_memory(const std::string& root) {
  HostMemory memory;
  memory.bytes = meminfo(root, "MemTotal:").value_or(static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE));
  memory.swap_bytes = meminfo(root, "SwapTotal:").value_or(0);
  const std::string mount = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {  // "0::/a/b" of version 2, "5:cpu,memory:/a/b" of version 1
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) {
      limit_by(memory, mount, path, "memory.max", "memory.swap.max", false);
      limit_by(memory, mount + "/unified", path, "memory.max", "memory.swap.max", false);
    } else if (among(controllers, "memory")) {
      limit_by(memory, mount + "/memory", path, "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", true);
    }
  }
  return memory;
}

std::int64_t private_memory() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0, shared = 0;
  return file >> all >> resident >> shared ? (resident - shared) * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace cleave
