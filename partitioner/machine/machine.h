// Machine: what a machine can do, as plain numbers, from a machine file (docs/machine-files.md) or a shipped one by name. Knows no op:
// tables have keys of text such as `matmul/f32`.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/array/precision.h"
#include "graph/array/tensor_type.h"
#include "graph/base/id.h"
#include "graph/base/result.h"
#include "graph/work.h"

namespace cleave {

/// Seconds by size, interpolated linearly between points, extended beyond the ends at the rate of the outermost pair.
using PointTable = std::vector<std::pair<double, double>>;

/// Seconds for `size` by the table, which must not be empty.
double seconds_at(const PointTable& points, double size);

/// What copies in one direction cost: `latency_seconds` plus bytes over rate, or what a table says.
struct LinkDirection {
  double latency_seconds = 0;
  double bytes_per_second = 1;
  PointTable points;           ///< optional: [bytes, seconds]
  PointTable pageable_points;  ///< optional, the same for pageable memory

  [[nodiscard]] double seconds(double bytes) const;
};

/// Which part of the rates of arithmetic and of memory a class of operations reaches.
struct Efficiency {
  double flops = 1, bytes = 1;
};

/// What one device can do.
struct DeviceRates {
  std::string name;
  std::array<double, kDTypeCount> flops{};  ///< per second by element type; types not given take that of a near one (docs/machine-files.md)
  double tf32_flops = 0;                    ///< accelerators only: of matrix products of f32 in tf32; 0: as f32
  double bytes_per_second = 1;
  double overhead_seconds = 0;               ///< of every operation
  double run_seconds = 0, trip_seconds = 0;  ///< of a host: what a run, and each trip of a loop, take beside their operations
  double memory_bytes = 0;
  int threads = 0;                                     ///< of a host: as many as `points` were measured with; 0: not known
  std::array<Efficiency, kCostClassCount> efficiency;  ///< by CostClass, where there are no points
  std::string control_flow = "none";
  std::map<std::string, PointTable> points;                ///< by op, type and variant: [flops or bytes, seconds]
  LinkDirection host_to_accelerator, accelerator_to_host;  ///< accelerators only

  /// Operations a second of matrix products of f32.
  [[nodiscard]] double product_flops(Precision precision) const;
  [[nodiscard]] const Efficiency& efficiency_of(CostClass of) const { return efficiency[static_cast<std::size_t>(of)]; }
};

/// A host, its accelerator and the link between them: `Result<Machine> machine = Machine::find("h200");`
struct Machine {
  std::string name;
  std::string provenance;  ///< measured, datasheet or assumed
  DeviceRates host;
  std::vector<DeviceRates> accelerators;  ///< one, today

  /// What copies cost from one device to another: of the host and an accelerator.
  [[nodiscard]] const LinkDirection& link(DeviceId from, DeviceId to) const;

  /// A shipped machine: `simulated` or `h200`. The files are compiled in.
  static Result<Machine> shipped(std::string_view name);
  static std::vector<std::string> shipped_names();
  /// Parses a machine file; errors carry line and column.
  static Result<Machine> parse(std::string_view text, const std::string& file);
  /// A name of a shipped machine or else a path.
  static Result<Machine> find(const std::string& name_or_path);
};

/// The machine file of `machine`; Machine::parse reads it back as the same numbers.
std::string to_yaml(const Machine& machine);

}  // namespace cleave
