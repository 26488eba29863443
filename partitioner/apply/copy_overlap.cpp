#include "partitioner/apply/copy_overlap.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "partitioner/apply/step_costs.h"

namespace cleave::planner {
namespace {

/// Finds the overlaps of one device, block by block.
class OverlapSearch {
 public:
  OverlapSearch(const Program& program, DeviceId device, std::int64_t part_bytes, const std::function<KernelValues(NodeId)>& kernel_of)
      : program_(program), graph_(*program.graph), device_(device), part_bytes_(part_bytes), kernel_of_(kernel_of) {}

  Overlaps run() {
    for (const Block& block : program_.devices[device_].blocks) {
      if (device_ == kHost) {
        find_neighbours(block.steps);
      } else {
        find_first_readers(block.steps);
      }
    }
    return std::move(found_);
  }

 private:
  /// The host: only steps that transfer in the same direction may be between an operation and its receive or send.
  void find_neighbours(const std::vector<Step>& steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].kind != StepKind::compute) continue;
      const KernelValues kernel = kernel_of_(steps[i].node);
      if (!kernel.reads) continue;
      CopyOverlap beside;
      for (std::size_t k = i; k > 0 && passes(steps[k - 1], StepKind::receive); --k)
        if (large(steps[k - 1]) && contains(*kernel.reads, steps[k - 1].value)) beside.coming.push_back(steps[k - 1].channel);
      for (std::size_t k = i + 1; k < steps.size() && passes(steps[k], StepKind::send); ++k)
        if (large(steps[k]) && contains(*kernel.writes, steps[k].value)) beside.leaving.push_back(steps[k].channel);
      if (!beside.coming.empty() || !beside.leaving.empty()) found_.emplace(steps[i].node, std::move(beside));
    }
  }
  /// Whether a step is of this kind, or takes no time: a constant or the like, or an operation that runs as part of a later kernel.
  [[nodiscard]] bool passes(const Step& step, StepKind kind) const {
    if (step.kind == kind) return true;
    return step.kind == StepKind::compute && graph_.nodes[step.node].kind != NodeKind::counter && !kernel_of_(step.node).reads;
  }

  void find_first_readers(const std::vector<Step>& steps) {
    std::vector<const Step*> coming;
    for (const Step& step : steps) {
      if (is_control(graph_.nodes[step.node].kind) && step.kind != StepKind::receive && step.kind != StepKind::send) coming.clear();
      if (step.kind == StepKind::receive && large(step)) coming.push_back(&step);
      if (step.kind != StepKind::compute || coming.empty()) continue;
      const KernelValues kernel = kernel_of_(step.node);
      const bool renames = !kernel.reads && graph_.nodes[step.node].op && graph_.nodes[step.node].op->keeps_bytes;
      const std::vector<ValueId>* reads = renames ? &graph_.nodes[step.node].inputs : kernel.reads;
      std::erase_if(coming, [&](const Step* each) {
        if (!reads || !contains(*reads, each->value)) return false;
        if (kernel.reads) found_[step.node].coming.push_back(each->channel);
        return true;
      });
    }
  }

  [[nodiscard]] bool large(const Step& step) const {
    if (step.kind == StepKind::compute || program_.channels[step.channel].coalesced) return false;
    if (between_accelerators(program_.channels[step.channel])) return false;  // these are copied in one piece
    return graph_.values[step.value].type.bytes() > part_bytes_;
  }
  static bool contains(const std::vector<ValueId>& values, ValueId value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  }

  const Program& program_;
  const Graph& graph_;
  const DeviceId device_;
  const std::int64_t part_bytes_;
  const std::function<KernelValues(NodeId)>& kernel_of_;
  Overlaps found_;
};

/// The kernels that a plan counts on, with what they read and write.
class PlannedKernels {
 public:
  PlannedKernels(const Program& program, DeviceId device) : graph_(*program.graph), device_(device), group_of_(graph_.nodes.size(), 0) {
    const std::vector<std::vector<NodeId>> kernels = kernels_of_several(program, device);
    if (kernels.empty()) return;
    const std::vector<int> uses = count_uses(graph_);
    for (const std::vector<NodeId>& nodes : kernels) {
      groups_.push_back(make_group(graph_, nodes, uses));
      for (const NodeId node : nodes) group_of_[node] = groups_.size();
    }
  }

  [[nodiscard]] KernelValues values(NodeId id) const {
    const Node& node = graph_.nodes[id];
    if (node.kind != NodeKind::operation || (device_ != kHost && node.op->keeps_bytes && group_of_[id] == 0)) return {};
    if (group_of_[id] == 0) return {&node.inputs, &node.results};
    const FusionGroup& group = groups_[group_of_[id] - 1];
    return id == group.nodes.back() ? KernelValues{&group.inputs, &group.results} : KernelValues();
  }
  [[nodiscard]] KernelRequest request(NodeId id) const {
    if (group_of_[id] > 0) return request_for(graph_, groups_[group_of_[id] - 1]);
    const Node& node = graph_.nodes[id];
    KernelRequest request{id, node.op, &node.attributes, {}, {}, {}, {}, {}, {}};
    for (const ValueId input : node.inputs) request.input_types.push_back(graph_.values[input].type);
    for (const ValueId result : node.results) request.result_types.push_back(graph_.values[result].type);
    return request;
  }

 private:
  const Graph& graph_;
  const DeviceId device_;
  std::vector<FusionGroup> groups_;
  IdVector<NodeId, std::size_t> group_of_;  ///< 1 + the index into `groups_`; 0: none
};

}  // namespace

Overlaps find_copy_overlaps(const Program& program, DeviceId device, std::int64_t part_bytes,
                            const std::function<KernelValues(NodeId)>& kernel_of) {
  const auto large = [&](const Channel& channel) { return program.graph->values[channel.value].type.bytes() > part_bytes; };
  if (std::none_of(program.channels.begin(), program.channels.end(), large)) return {};
  return OverlapSearch(program, device, part_bytes, kernel_of).run();
}

void keep_rows(std::vector<ChannelId>& coming, const Program& program, const std::vector<ValueId>& reads, const RowCut& cut) {
  std::erase_if(coming, [&](const ChannelId& channel) {
    for (std::size_t k = 0; k < reads.size(); ++k)
      if (reads[k] == program.channels[channel].value && cut.inputs[k] == RowCut::kWhole) return true;
    return false;
  });
}

std::int64_t launches_for(std::int64_t parts, double seconds, double start_seconds) {
  constexpr std::int64_t kMost = 8;
  const double more = start_seconds > 0 ? std::max(0.0, seconds - start_seconds) / (2 * start_seconds) : static_cast<double>(kMost);
  return std::min({parts, kMost, 1 + static_cast<std::int64_t>(std::min(more, static_cast<double>(kMost)))});
}

Overlaps planned_copy_overlaps(const Program& program, DeviceId device) {
  std::optional<PlannedKernels> kernels;  // made at the first request
  const auto values_of = [&](NodeId node) {
    if (!kernels) kernels.emplace(program, device);
    return kernels->values(node);
  };
  Overlaps found = find_copy_overlaps(program, device, kPartBytes, values_of);
  for (auto each = found.begin(); each != found.end();) {
    auto& [node, beside] = *each;
    const std::optional<RowCut> cut = row_cut(kernels->request(node));
    if (cut) keep_rows(beside.coming, program, *kernels->values(node).reads, *cut);
    each = cut && !(beside.coming.empty() && beside.leaving.empty()) ? std::next(each) : found.erase(each);
  }
  return found;
}

}  // namespace cleave::planner
