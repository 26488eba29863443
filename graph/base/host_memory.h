// HostMemory: the memory that this process may use: the machine's, or the limit of a control group (cgroup) if that is smaller. A process
// that exceeds its control group's limit is killed, so the limit must be known before a run.
#pragma once

#include <cstdint>
#include <string>

namespace cleave {

struct HostMemory {
  std::int64_t bytes = 0;       ///< the machine's memory, or the smallest limit of the process's control groups
  std::int64_t swap_bytes = 0;  ///< swap space in addition
  std::string limited_by;       ///< the file with that limit; empty: the machine is the limit
};

/// Reads `/proc/meminfo`, `/proc/self/cgroup` and the limits of version 2 (`memory.max`) and version 1 (`memory.limit_in_bytes`) under
/// `/sys/fs/cgroup`, for the process's group and all enclosing groups. `root` is a prefix of these paths, for tests.
HostMemory host_memory(const std::string& root = "");

/// Bytes of resident private memory (not backed by a file) of this process.
std::int64_t private_memory();

}  // namespace cleave
