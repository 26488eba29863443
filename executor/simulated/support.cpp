// Which operations an accelerator has kernels for.
#include <algorithm>
#include <array>

#include "executor/cuda/open.h"
#include "executor/run/executor.h"

namespace cleave {
namespace {

/// What the simulated accelerator has no kernel for, as a real one of today's would not; effects and host functions stay on the host
/// anyway.
constexpr std::array<std::string_view, 4> kMissing = {"argsort", "sort", "top_k", "unique"};

bool simulated_supports(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (node.kind != NodeKind::operation) return true;
  if (graph.purity(id) != Purity::pure || node.op->moves_to == Side::host) return false;
  for (const auto& [name, value] : node.attributes) {
    if (std::holds_alternative<std::shared_ptr<const HostFunction>>(value)) return false;
  }
  return !std::binary_search(kMissing.begin(), kMissing.end(), std::string_view(node.op->name));
}

}  // namespace

KernelSupport kernel_support(ExecutorOptions::Accelerator accelerator) {
  if (accelerator == ExecutorOptions::Accelerator::simulated) return simulated_supports;
  if (accelerator == ExecutorOptions::Accelerator::cuda) return cuda::supports;
  return [](const Graph&, NodeId) { return false; };
}

}  // namespace cleave
