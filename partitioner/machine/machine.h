// Machine: the performance of a machine as plain numbers, from a machine file (docs/machine-files.md) or a shipped one by name. Knows no
// operations: tables have text keys such as `matmul/f32`.
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

/// The cost of copies in one direction: `latency_seconds` plus bytes over bandwidth, or an interpolated table.
struct LinkDirection {
  double latency_seconds = 0;
  double bytes_per_second = 1;
  PointTable points;           ///< optional: [bytes, seconds]
  PointTable pageable_points;  ///< optional, the same for pageable memory

  [[nodiscard]] double seconds(double bytes) const;
};

/// The fractions of peak arithmetic rate and memory bandwidth that a class of operations reaches.
struct Efficiency {
  double flops = 1, bytes = 1;
};

/// The performance of one device.
struct DeviceRates {
  std::string name;
  /// Per second by element type; a missing type takes the rate of a similar one (docs/machine-files.md).
  std::array<double, kDTypeCount> flops{};
  double tf32_flops = 0;  ///< accelerators only: rate of f32 matrix products in tf32; 0: the rate of f32
  double bytes_per_second = 1;
  double overhead_seconds = 0;               ///< overhead of every operation
  double run_seconds = 0, trip_seconds = 0;  ///< hosts only: overhead of a run, and of each loop iteration
  double memory_bytes = 0;
  int threads = 0;                                     ///< hosts only: number of threads with which `points` were measured; 0: not known
  std::array<Efficiency, kCostClassCount> efficiency;  ///< by CostClass; used where there are no points
  std::string control_flow = "none";
  std::map<std::string, PointTable> points;                ///< keyed by operation, type and variant: [flops or bytes, seconds]
  LinkDirection host_to_accelerator, accelerator_to_host;  ///< accelerators only

  /// Arithmetic operations per second of f32 matrix products.
  [[nodiscard]] double product_flops(Precision precision) const;
  [[nodiscard]] const Efficiency& efficiency_of(CostClass of) const { return efficiency[static_cast<std::size_t>(of)]; }
};

/// A host, its accelerators and the links between them: `Result<Machine> machine = Machine::find("h200");`
struct Machine {
  /// A link between two accelerators that does not pass the host; both directions cost the same.
  struct Peer {
    DeviceId first, second;  ///< `first` has the smaller number
    LinkDirection link;
  };

  static constexpr std::size_t kMostAccelerators = 63;

  std::string name;
  std::string provenance;  ///< measured, datasheet or assumed
  DeviceRates host;
  std::vector<DeviceRates> accelerators;  ///< device i + 1 is accelerators[i]; a machine file gives at least one
  std::vector<Peer> peers;                ///< ascending; pairs that are not listed copy through the host's memory

  /// The cost of copies from one device to another; one of them must be the host, or has_peer(from, to).
  [[nodiscard]] const LinkDirection& link(DeviceId from, DeviceId to) const;
  /// Whether a link joins two accelerators directly.
  [[nodiscard]] bool has_peer(DeviceId a, DeviceId b) const;

  /// A shipped machine: `simulated`, `simulated-4`, `h200` or `h200-8`. The files are compiled in.
  static Result<Machine> shipped(std::string_view name);
  static std::vector<std::string> shipped_names();
  /// Parses a machine file; errors carry line and column.
  static Result<Machine> parse(std::string_view text, const std::string& file);
  /// Finds a machine by the name of a shipped one, or else by the path of a file.
  static Result<Machine> find(const std::string& name_or_path);
};

/// The machine file of `machine`; Machine::parse reads it back as the same numbers.
std::string to_yaml(const Machine& machine);

}  // namespace cleave
