// HostOperations: the operations of the host's program, prepared: a kernel for each, its operands, and the operations that overlap with
// transfers (overlap.h). Decided once; knows no run and no address.
#pragma once

#include <memory>
#include <vector>

#include "executor/device/kernel.h"
#include "executor/run/prepare/overlap.h"
#include "executor/run/prepare/prepared.h"
#include "executor/run/prepare/slot_uses.h"

namespace cleave::runtime {

struct HostOperation {
  std::unique_ptr<HostKernel> kernel;  ///< null: the node is no operation, or runs with a later one
  const Attributes* attributes = nullptr;
  std::uint32_t first_view = 0;                               ///< index into HostOperations::views: the inputs, then the results
  bool calls_user = false;                                    ///< a host function, which may make the host wait
  bool moves = false;                                         ///< the address of some of its values may change
  HostFunction::Beside beside = HostFunction::Beside::never;  ///< whether the call runs beside later steps (host_calls.h)
};

struct HostOperations {
  const Graph* graph = nullptr;
  const Fusion* fusion = nullptr;
  IdVector<NodeId, HostOperation> of;
  IdVector<NodeId, Overlap> overlaps;
  std::vector<TensorView> views;  ///< without addresses

  /// The values that a node's kernel reads and writes; for the last node of a group, those of the whole group.
  [[nodiscard]] const std::vector<ValueId>& reads(NodeId id) const {
    const FusionGroup* group = fusion->group(id);
    return group ? group->inputs : graph->nodes[id].inputs;
  }
  [[nodiscard]] const std::vector<ValueId>& writes(NodeId id) const {
    const FusionGroup* group = fusion->group(id);
    return group ? group->results : graph->nodes[id].results;
  }
};

/// The request for the host's kernel of an operation, or of the fused kernel that ends with it.
KernelRequest host_request(const Prepared& prepared, NodeId id);

HostOperations prepare_host_operations(const Prepared& prepared, const SlotUses& slots);

}  // namespace cleave::runtime
