// make_problem(): turns a Graph and a Machine into a PlacementProblem: the cost of each node on each side, the cost of each transfer, and
// pins with their causes.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/kernel/fusible_group.h"
#include "partitioner/machine/cost_source.h"
#include "partitioner/machine/machine.h"
#include "partitioner/machine/planner.h"
#include "partitioner/machine/policy.h"
#include "partitioner/machine/profile.h"
#include "partitioner/machine/value_uses.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// Why a node has a host copy. The JSON spellings are `pinned`, `no-kernel`, `effect`, `memory`, `cheaper`.
enum class Cause : std::uint8_t { none, cheaper, pinned, no_kernel, effect, memory };
std::string_view to_string(Cause cause);

struct CostModel {
  Machine machine;
  KernelSupport supported;  ///< null: every operation without effects
  Policy policy = Policy::optimal;
  bool has_accelerator = true;
  Profile profile;  ///< its host_seconds replace modeled costs
  /// Precision of the accelerator's matrix products. `in_precision`, given by the executor, says which operations it concerns (null: none).
  Precision precision = Precision::f32;
  KernelSupport in_precision = nullptr;
  int workers = 1;                           ///< threads that work beside the host's steps (Program::workers)
  int host_threads = 0;                      ///< threads of the host; 0: as many as the machine's tables were measured with
  FusionRule host_fuses, accelerator_fuses;  ///< null: no operations fuse on that side
};

/// What a machine with several accelerators adds to the problem of its host and its first accelerator.
struct SeveralAccelerators {
  Machine machine;
  std::vector<std::vector<double>> seconds;  ///< per accelerator: of each node of the problem there; empty: as on the first one

  [[nodiscard]] std::size_t devices() const { return machine.accelerators.size() + 1; }
};

struct CostedProblem {
  PlacementProblem problem;               ///< nodes as in the graph, then one host node for outputs and control; values as in the graph
  std::vector<Cause> forced;              ///< per graph node: why it must be on the host; none: it need not be
  IdVector<NodeId, CostSources> sources;  ///< per graph node: the sources of its costs
  int host_threads = 0;                   ///< threads of the host that its costs assume; 0: as many as they were measured with
  IdVector<RegionId, double> frequency;   ///< per graph region: executions per run
  LinkDirection to_accelerator, to_host;  ///< costs of copies
  int workers = 1;                        ///< threads that work beside the host's steps (Program::workers)
  double start_seconds = 0;               ///< launch overhead of each of the accelerator's kernels
  FusibleGroups fusible;  ///< operations that run as one kernel where they are on one side; `problem.savings` has what that saves
  std::shared_ptr<const ValueUses> uses;               ///< uses of the graph's values; the graph must outlive them
  std::shared_ptr<const SeveralAccelerators> several;  ///< null: the problem is that of the host and one accelerator

  /// The cost of copies from one device to another that a link joins.
  [[nodiscard]] const LinkDirection& link(DeviceId from, DeviceId to) const;
  /// The cost of one transfer of a value of `bytes` over a link.
  [[nodiscard]] double transfer_seconds(ValueId value, std::int64_t bytes, DeviceId from, DeviceId to) const;
};

/// Never fails on a verified graph, except for pins that cannot be met (diagnostics).
CostedProblem make_problem(const Graph& graph, const CostModel& model, Diagnostics& diagnostics);
/// `costed`, made of the same graph and model with another policy, changed to the policy of `model`. Only pins and forced copies are
/// decided again.
CostedProblem under_policy(const Graph& graph, const CostModel& model, const CostedProblem& costed, Diagnostics& diagnostics);
/// `costed`, made of the same graph and model, changed as if `nodes` were not pinned and had an accelerator kernel. Nodes with effects stay
/// as they are.
CostedProblem as_if_free(const Graph& graph, const CostModel& model, const CostedProblem& costed, std::span<const NodeId> nodes);

/// `costed`, made of the same graph and model, for all accelerators of the model's machine.
CostedProblem for_all_accelerators(const Graph& graph, const CostModel& model, CostedProblem costed, Diagnostics& diagnostics);

}  // namespace cleave::planner
