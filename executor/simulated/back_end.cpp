#include "executor/simulated/back_end.h"

#include <algorithm>
#include <array>

#include "executor/simulated/rounded_product.h"
#include "executor/simulated/simulated_device.h"

namespace cleave::runtime::simulated {
namespace {

/// Ops for which the simulated accelerator has no kernel, so that the handling of missing kernels can be tested on any machine; effects and
/// host functions stay on the host anyway.
constexpr std::array<std::string_view, 6> kMissing = {"argsort", "random_permutation", "sort", "top_k", "tree_ensemble", "unique"};

bool supports(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (node.kind != NodeKind::operation) return true;
  if (graph.purity(id) != Purity::pure || node.op->moves_to == Side::host || node.host_function()) return false;
  return !std::binary_search(kMissing.begin(), kMissing.end(), std::string_view(node.op->name));
}

std::vector<FoundDevice> find() {
  return {{"simulated", "simulated accelerator", {}, "real results, simulated times", {}, 0}};
}

Status check(const ExecutorOptions& options) {
  const Result<Faults> faults = Faults::parse(options.inject);
  return faults ? Status() : faults.error();
}

Result<std::unique_ptr<Device>> open(int, const ExecutorOptions& options) {
  const Result<Faults> faults = Faults::parse(options.inject);
  if (!faults) return faults.error();
  return std::unique_ptr<Device>(std::make_unique<SimulatedDevice>(options, *faults));
}

/// Ordinary memory marked as page-locked, so that errors in the use of such arrays show up here too.
Result<Array> page_locked(TensorType type, int) {
  Result<Array> array = Array::allocate(type);
  if (!array) return array;
  auto memory = std::make_shared<Array>(*std::move(array));
  std::byte* data = memory->mutable_bytes();
  return Array::own(
      std::move(type), data, [memory] {}, PageLock::simulated);
}

}  // namespace

BackEnd back_end() {
  BackEnd record;
  record.name = "simulated";
  record.simulates = true;
  record.machine = "simulated";
  record.calibrated = "host";
  record.usable = [] { return Status(); };
  record.find = find;
  record.check = check;
  record.open = open;
  record.supports = supports;
  record.in_precision = in_precision;
  record.page_locked = page_locked;
  return record;
}

}  // namespace cleave::runtime::simulated
