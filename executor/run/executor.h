// Executor: runs a Program. Both sides walk their step lists at once and meet only at channels; every wait can be woken by an error.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/report/timeline.h"
#include "graph/array/array.h"
#include "graph/base/result.h"
#include "partitioner/apply/program.h"
#include "partitioner/machine/costs.h"
#include "partitioner/machine/machine.h"

namespace cleave {

struct RunOptions {
  std::map<std::string, Array> inputs;  ///< by name, inputs and parameters alike; the rest takes the model's default data or is an Error
  /// Arrays that outputs are written into, by name, in place: RunResult gives them back, and whoever shares one sees it. Page-locked ones
  /// (page_locked.h) are reached by the device directly. Undefined after a run that failed.
  std::map<std::string, Array> results;
  std::function<void(std::string_view)> print;  ///< a line of `print`; null: standard output
  /// Told each output as soon as the host has its value, long before the end maybe, from one of the executor's threads; of a run that fails
  /// only what came before. Null: nobody asks.
  std::function<void(std::string_view name, const Array& array)> on_output;
  bool verify = false;  ///< every node against its meaning; the first difference is an Error at its line
  /// Verifying, told each node before it is checked, and how many operations that takes; from any of the executor's threads. May be null.
  std::function<void(std::string_view name, double operations)> on_verify;
  bool timeline = false;
  bool observe = false;  ///< fill RunResult::observed
};

struct TransferCount {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

struct RunResult {
  std::vector<std::pair<std::string, Array>> outputs;      ///< in the graph's order
  TransferCount host_to_accelerator, accelerator_to_host;  ///< what really moved, each executed value transfer once
  double seconds = 0;                                      ///< wall clock
  double simulated_seconds = 0;                            ///< virtual clock; 0 where no device simulates
  Timeline timeline;
  Profile observed;

  /// The output of that name, or null.
  [[nodiscard]] const Array* output(std::string_view name) const {
    for (const auto& [known, array] : outputs)
      if (known == name) return &array;
    return nullptr;
  }
};

/// In which matrix products of f32 are computed: true f32, or with operands rounded to ten or seven bits of mantissa.
enum class Precision : std::uint8_t { f32, tf32, bf16 };

class DeviceInterface;

struct ExecutorOptions {
  enum class Accelerator : std::uint8_t { none, simulated, cuda } accelerator = Accelerator::simulated;
  int ordinal = 0;                       ///< which of the accelerators of that kind
  Precision precision = Precision::f32;  ///< cuda
  bool fuse = true;                      ///< cuda: neighbouring operations run as one kernel where there is one
  bool stream_mode = false;              ///< cuda: every operation launched by itself, to find where an error of the device comes from
  /// Opens the accelerator in place of `accelerator`'s own; null: its own.
  std::function<Result<std::unique_ptr<DeviceInterface>>()> open;
  enum class Schedule : std::uint8_t { eager, latest, random } schedule = Schedule::eager;  ///< of the simulated accelerator's streams
  std::uint64_t schedule_seed = 0;
  int channel_capacity = 2;      ///< generations in flight; at least 1
  double watchdog_seconds = 30;  ///< without any step executing before a run is ended with an Error
  bool check_memory = false;     ///< simulated accelerator: every operand byte must have been written
  std::string inject;            ///< fault injection on the simulated accelerator; see simulated/faults.h
  /// Where a host function's library is looked for if it is not at its own path: each of these joined with its file name.
  std::vector<std::string> library_paths;
};

/// One program made ready to run: devices opened, memory planned, host libraries loaded. May run any number of times, one run at a time per
/// Executor.
class Executor {
 public:
  static Result<std::unique_ptr<Executor>> create(std::shared_ptr<const Program> program, const Machine& machine,
                                                  const ExecutorOptions& options);
  virtual ~Executor() = default;
  virtual Result<RunResult> run(const RunOptions& options) = 0;
  /// Ends the run under way, from any thread: no further step starts, every wait is woken, and run() gives the Error "cancelled". False if
  /// there is none, or it has not got as far as its first step. The next run starts afresh.
  virtual bool cancel() = 0;
  /// Whether its accelerator was lost: every later run is an Error.
  [[nodiscard]] virtual bool lost() const = 0;
  /// Bytes of a device's memory that the plan takes at its peak, stated before any run; and what runs so far really touched.
  [[nodiscard]] virtual std::int64_t planned_peak(DeviceId device) const = 0;
  [[nodiscard]] virtual std::int64_t measured_peak(DeviceId device) const = 0;
};

/// Sets the accelerator that `device` asks for: auto, none, simulated or cuda[:N]. `auto` is a GPU where one is usable, else the simulated
/// one. An Error (usage) for anything else, (machine) for a GPU that cannot be had.
Status choose_accelerator(std::string_view device, ExecutorOptions& options);

/// Where `cleave calibrate` leaves the machine file for that accelerator: $XDG_CONFIG_HOME/cleave (~/.config/cleave). Empty where there is
/// no such place.
std::string calibrated_machine_file(ExecutorOptions::Accelerator accelerator);
/// The machine that `wanted` names (a shipped one, or a machine file). Empty: the shipped `simulated` for the simulated accelerator; for
/// any other the calibrated one where there is one, else `h200` for a GPU and `simulated` without accelerator.
Result<Machine> choose_machine(const std::string& wanted, ExecutorOptions::Accelerator accelerator);

/// Whether the accelerator chosen by `options` has a kernel for a node: what the planner asks.
KernelSupport kernel_support(ExecutorOptions::Accelerator accelerator);

}  // namespace cleave
