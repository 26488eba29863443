// Graph + Machine -> PlacementProblem: what each node costs on each side, what each transfer costs, what is pinned and why.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "partitioner/machine/machine.h"
#include "partitioner/solver/problem.h"

namespace cleave {

enum class Policy : std::uint8_t { optimal, makespan, accelerator, host };

/// Whether an accelerator can run this operation with these types. Given by whoever knows the devices.
using KernelSupport = std::function<bool(const Graph& graph, NodeId node)>;

/// Why a node has a host copy. The JSON spellings are `pinned`, `no-kernel`, `effect`, `memory`, `cheaper`.
enum class Cause : std::uint8_t { none, cheaper, pinned, no_kernel, effect, memory };
std::string_view to_string(Cause cause);

/// Observed trips, probabilities and times, keyed by the source position of the control node or op (`--profile FILE`).
struct Profile {
  std::map<std::string, double> expected;      ///< "file:line:column" of a loop or branch -> trips or probability of `then`
  std::map<std::string, double> host_seconds;  ///< of an op on the host, a time a single execution took

  [[nodiscard]] Status save(const std::string& path) const;
  static Result<Profile> load(const std::string& path);
};
/// The graph with observed in place of assumed or known expectations.
Graph apply_profile(const Graph& graph, const Profile& profile);

struct CostModel {
  Machine machine;
  KernelSupport supported;  ///< null: every operation without effects
  Policy policy = Policy::optimal;
  bool has_accelerator = true;
  Profile profile;  ///< host_seconds replace modelled costs
};

struct CostedProblem {
  PlacementProblem problem;              ///< nodes as in the graph, then one host node for outputs and control; values as in the graph
  std::vector<Cause> forced;             ///< per graph node: why it cannot leave the host; none: it can
  IdVector<RegionId, double> frequency;  ///< per graph region
};

/// Never fails on a verified graph, except for pins that cannot be met (diagnostics).
CostedProblem make_problem(const Graph& graph, const CostModel& model, Diagnostics& diagnostics);

}  // namespace cleave
