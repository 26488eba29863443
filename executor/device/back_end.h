// BackEnd: one record a kind of accelerator, with everything that the rest of the house asks of it. Each back end's room gives its own; the
// table of them is executor/api/back_ends.h. To add one: a room and a row.
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
#include "partitioner/machine/costs.h"
#include "partitioner/machine/row_cut.h"

namespace cleave::runtime {

class KeptLeaves;

/// A device as `cleave devices` lists it.
struct FoundDevice {
  std::string name;         ///< as for `--device`: "cuda:0"; "cuda" where there is nothing to number
  std::string kind;         ///< "NVIDIA GPU"
  std::string why;          ///< not usable because; empty: usable
  std::string description;  ///< its model and abilities
  std::string versions;     ///< of the driver and the libraries
  double memory_bytes = 0;  ///< in all; 0: not known
};

struct BackEnd {
  std::string_view name;        ///< as for `--device`
  bool numbered = false;        ///< takes `name:N`
  bool simulates = false;       ///< its times are those of a virtual clock, and only it takes faults, schedules and memory checks
  std::string_view machine;     ///< the shipped machine whose costs hold where no calibrated file is
  std::string_view calibrated;  ///< `cleave calibrate` leaves its file as this name; empty: there is nothing to measure
  /// Whether the machine shows signs of such a device; opens no library. `--device auto` asks usable() only then. Null: always.
  std::function<bool()> present;
  /// An Error (machine) says what is missing. Loads the libraries that the device needs; opens no device.
  std::function<Status()> usable;
  /// At least one entry, maybe one that says why there is none.
  std::function<std::vector<FoundDevice>()> find;
  /// Whether these options mean something to it: an Error (usage) before anything is opened. Null: all do.
  std::function<Status(const ExecutorOptions& options)> check;
  /// Null: there is no accelerator, all work is the host's.
  std::function<Result<std::unique_ptr<Device>>(int ordinal, const ExecutorOptions& options)> open;
  KernelSupport supports;      ///< whether there is a kernel for a node
  KernelSupport in_precision;  ///< whether a node is a product that `ExecutorOptions::precision` is about; null: none is
  std::function<bool(const KernelRequest&)> fuses;  ///< whether several steps have one kernel (memory/fusion.h); null: never
  /// Values of so many bytes cross by a copy engine; smaller ones by mailboxes, where it has any.
  std::int64_t copied_from = 1;
  /// An array in memory that the device copies from and to directly.
  std::function<Result<Array>(TensorType type, int ordinal)> page_locked;
};

/// The user's options, and the device that they are for.
struct ExecutorSetup : ExecutorOptions {
  BackEnd back_end;
  int ordinal = 0;                                    ///< which of the back end's devices
  std::int64_t part_bytes = planner::kPartBytes;      ///< larger values are staged and copied in parts of so many bytes
  std::shared_ptr<KeptLeaves> kept_leaves = nullptr;  ///< of all executors of the program; null: this one keeps its own
};

}  // namespace cleave::runtime
