// Graph + Machine -> PlacementProblem: what each node costs on each side, what each transfer costs, what is pinned and why.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "partitioner/machine/cost_source.h"
#include "partitioner/machine/fusion.h"
#include "partitioner/machine/machine.h"
#include "partitioner/machine/policy.h"
#include "partitioner/machine/profile.h"
#include "partitioner/machine/value_uses.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// Whether an accelerator can run this operation with these types. The executor gives it, as it knows the devices.
using KernelSupport = std::function<bool(const Graph& graph, NodeId node)>;

/// Why a node has a host copy. The JSON spellings are `pinned`, `no-kernel`, `effect`, `memory`, `cheaper`.
enum class Cause : std::uint8_t { none, cheaper, pinned, no_kernel, effect, memory };
std::string_view to_string(Cause cause);

struct CostModel {
  Machine machine;
  KernelSupport supported;  ///< null: every operation without effects
  Policy policy = Policy::optimal;
  bool has_accelerator = true;
  Profile profile;  ///< host_seconds replace modelled costs
  /// Of the accelerator's matrix products; which operations that concerns the executor says too (null: none).
  Precision precision = Precision::f32;
  KernelSupport in_precision = nullptr;
  int host_threads = 0;                      ///< 0: as many as the machine's tables were measured with
  FusionRule host_fuses, accelerator_fuses;  ///< null: every operation runs by itself there
};

struct CostedProblem {
  PlacementProblem problem;               ///< nodes as in the graph, then one host node for outputs and control; values as in the graph
  std::vector<Cause> forced;              ///< per graph node: why it cannot leave the host; none: it can
  IdVector<NodeId, CostSources> sources;  ///< per graph node: where its costs come from
  int host_threads = 0;                   ///< that the host's costs are of; 0: as many as they were measured with
  IdVector<RegionId, double> frequency;   ///< per graph region
  LinkDirection to_accelerator, to_host;  ///< what copies cost
  int workers = 1;                        ///< threads that call host functions (Program::workers)
  double start_seconds = 0;               ///< what each of the accelerator's kernels takes beside its work
  FusibleGroups fusible;                  ///< what runs as one kernel where it is together; `problem.savings` are what that saves
  std::shared_ptr<const ValueUses> uses;  ///< of the graph, which must outlive it
};

/// Never fails on a verified graph, except for pins that cannot be met (diagnostics).
CostedProblem make_problem(const Graph& graph, const CostModel& model, Diagnostics& diagnostics);
/// `costed` of the same graph and model, but for the policy, which is `model`'s: only pins and copies are decided anew.
CostedProblem under_policy(const Graph& graph, const CostModel& model, const CostedProblem& costed, Diagnostics& diagnostics);
/// `costed` of the same graph and model, but as if `nodes`, unless they have effects, were not pinned and had an accelerator kernel.
CostedProblem as_if_free(const Graph& graph, const CostModel& model, const CostedProblem& costed, std::span<const NodeId> nodes);

}  // namespace cleave::planner
