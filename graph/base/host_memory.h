// HostMemory: how much memory this process may use: what the machine has, or less where a control group allows less. A process that uses
// more than its control group has is killed, so the limit has to be known before anything is run.
#pragma once

#include <cstdint>
#include <string>

namespace cleave {

struct HostMemory {
  std::int64_t bytes = 0;       ///< of the machine, or the smallest limit of the control groups that the process is in
  std::int64_t swap_bytes = 0;  ///< beside it
  std::string limited_by;       ///< the file with that limit; empty: the machine is the limit
};

/// Reads `/proc/meminfo`, `/proc/self/cgroup` and the limits of version 2 (`memory.max`) and version 1 (`memory.limit_in_bytes`) under
/// `/sys/fs/cgroup`, of the process's group and of all groups around it. `root` stands before these paths, for tests.
HostMemory host_memory(const std::string& root = "");

/// Bytes of memory that this process has now and shares with no file.
std::int64_t private_memory();

}  // namespace cleave
