// The keys of each map of a machine file, as the reader accepts them. A test checks that docs/machine-files.md describes the same ones.
#pragma once

#include <string>
#include <vector>

namespace cleave::planner {

/// One map of a machine file.
struct MachineKeys {
  std::vector<std::string> known, required;
};

const MachineKeys& machine_file_keys();  ///< the file itself
const MachineKeys& host_keys();
const MachineKeys& accelerator_keys();
const MachineKeys& flops_keys();              ///< of `host`
const MachineKeys& accelerator_flops_keys();  ///< the same, and `tf32`
const MachineKeys& efficiency_keys();         ///< by class of operations
const MachineKeys& class_efficiency_keys();
const MachineKeys& link_keys();
const MachineKeys& link_direction_keys();
const MachineKeys& peer_keys();

}  // namespace cleave::planner
