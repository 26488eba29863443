// Placement problems from JSON files and placements as JSON, for `cleave plan`. docs/placement.md lists the fields. Large files are
// streamed.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/result.h"
#include "partitioner/solver/placement.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

enum class ProblemFormat : std::uint8_t {
  cleave,
  device_placement,  ///< workloads of Tarnawski et al. 2020; their numbers are read as seconds
};

/// The fields of a problem file about several accelerators, from which partitioner/devices makes a problem; empty for the host and one
/// accelerator.
struct AcceleratorFields {
  struct Each {
    std::int32_t item = 0;        ///< a node or a value
    std::vector<double> seconds;  ///< one an accelerator
  };
  struct Peer {
    std::vector<std::int32_t> between;  ///< two accelerators
    std::vector<double> seconds;        ///< one a value
  };
  std::vector<double> memory_bytes;  ///< one an accelerator, 0 if the file does not say it; empty: the file does not list accelerators
  std::vector<Each> node_seconds, from_host_seconds, to_host_seconds;
  std::vector<Peer> peers;

  [[nodiscard]] bool empty() const {
    return memory_bytes.empty() && node_seconds.empty() && from_host_seconds.empty() && to_host_seconds.empty() && peers.empty();
  }
};

struct LoadedProblem {
  PlacementProblem problem;
  /// Per region: its index in the file, which may list regions in any order; the problem holds parents first.
  std::vector<std::int32_t> region_in_file;
  AcceleratorFields accelerators;
};

/// Called from time to time with the fraction read so far.
using ReadProgress = std::function<void(double)>;

/// The problem is verified. Errors name the offending path, as in `nodes[3].host_seconds`.
Result<LoadedProblem> load_problem(const std::string& path, ProblemFormat format, const ReadProgress& progress = nullptr);
Result<LoadedProblem> parse_problem(std::string_view text, ProblemFormat format);

/// Replaces the capacity by BYTES (`629145600`) or PERCENT of the bytes of all nodes (`20%`).
Status set_accelerator_memory(PlacementProblem& problem, std::string_view capacity);

/// A problem in the form that parse_problem reads.
std::string problem_json(const PlacementProblem& problem);

/// {objective_seconds, bound_seconds, gap, nodes, transfers, solve_seconds}
std::string placement_json(const LoadedProblem& loaded, const Placement& placement);

}  // namespace cleave::planner
