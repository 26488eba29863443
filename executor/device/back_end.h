// BackEnd: the record of one kind of accelerator, with every function that the other rooms call on it. Each back end's folder defines its
// own record; executor/api/back_ends.h has the table of them. A new back end is one folder and one row.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "executor/device/device.h"
#include "executor/options.h"
#include "executor/runtime.h"
#include "graph/array/array.h"
#include "graph/kernel/kernel_request.h"
#include "graph/kernel/row_cut.h"

namespace cleave {
class SharedConstants;
}

namespace cleave::runtime {

class KeptLeaves;

/// A device as `cleave devices` lists it.
struct FoundDevice {
  std::string name;         ///< as for `--device`: "cuda:0"; "cuda" if the devices have no numbers
  std::string kind;         ///< "NVIDIA GPU"
  std::string why;          ///< why the device cannot be used; empty: usable
  std::string description;  ///< its model and abilities
  std::string versions;     ///< of the driver and the libraries
  double memory_bytes = 0;  ///< total memory; 0: not known
};

struct BackEnd {
  std::string_view name;        ///< as for `--device`
  bool numbered = false;        ///< takes `name:N`
  bool simulates = false;       ///< its times are those of a virtual clock; only such a device supports faults, schedules and memory checks
  std::string_view machine;     ///< the shipped machine file whose costs apply if there is no calibrated file
  std::string_view calibrated;  ///< the name under which `cleave calibrate` writes its file; empty: there is nothing to measure
  /// Whether the machine shows signs of such a device; opens no library. `--device auto` calls usable() only if this returns true. Null:
  /// always true.
  std::function<bool()> present;
  /// An Error (machine) says what is missing. Loads the libraries that the device needs; opens no device.
  std::function<Status()> usable;
  /// Lists the devices: at least one entry, which may only say why there is no usable device.
  std::function<std::vector<FoundDevice>()> find;
  /// Checks that these options apply to the device: an Error (usage) before anything is opened. Null: all options apply.
  std::function<Status(const ExecutorOptions& options)> check;
  /// Opens the device. Null: there is no accelerator, and the host does all work.
  std::function<Result<std::unique_ptr<Device>>(int ordinal, const ExecutorOptions& options)> open;
  KernelSupport supports;      ///< whether there is a kernel for a node
  KernelSupport in_precision;  ///< whether a node is a product that `ExecutorOptions::precision` applies to; null: none is
  FusionRule fuses;            ///< whether several steps have one fused kernel; null: never
  /// Values of at least this many bytes are transferred by a copy engine; smaller ones through mailboxes, if the device has any.
  std::int64_t copied_from = 1;
  /// Creates an array in page-locked memory, which the device copies from and to directly.
  std::function<Result<Array>(TensorType type, int ordinal)> page_locked;
};

/// The user's options, and the device that they are for.
struct ExecutorSetup : ExecutorOptions {
  BackEnd back_end;
  int ordinal = 0;                                       ///< which of the back end's devices is used
  std::int64_t part_bytes = kernels::kPartBytes;         ///< larger values are staged and copied in chunks of this many bytes
  std::shared_ptr<SharedConstants> constants = nullptr;  ///< shared with other programs, with what kernels derive from them; null: none are
  std::shared_ptr<KeptLeaves> kept_leaves = nullptr;     ///< shared by all executors of the program; null: this executor keeps its own
};

}  // namespace cleave::runtime
