#include "executor/memory/fusion.h"

#include <algorithm>
#include <utility>

namespace cleave::runtime {
namespace {

class Finder {
 public:
  Finder(const Program& program, DeviceId device, const FusionRule& takes)
      : graph_(*program.graph),
        program_(program.devices[device]),
        is_host_(device == kHost),
        takes_(takes),
        uses_(graph_.values.size(), 0) {}

  Fusion run() {
    count_uses();
    fusion_.group_of.assign(graph_.nodes.size(), -1);
    for (const Block& block : program_.blocks) {
      for (const Step& step : block.steps) visit(step);
      close();
    }
    return std::move(fusion_);
  }

 private:
  void count_uses() {
    const auto use = [&](ValueId value) { ++uses_[value.index]; };
    for (const Block& block : program_.blocks) {
      for (const Step& step : block.steps) {
        if (step.kind == StepKind::send) use(step.value);
        if (step.kind == StepKind::compute) use_inputs(step.node);
        for (const NodeId carried : step.carried) use_inputs(carried);
        for (const NodeId merge : step.merges) use_inputs(merge);
      }
    }
    if (!is_host_) return;  // what leaves from elsewhere is sent
    for (const Output& output : graph_.outputs) use(output.value);
  }
  void use_inputs(NodeId node) {
    for (const ValueId input : graph_.nodes[node].inputs) ++uses_[input.index];
  }

  void visit(const Step& step) {
    const Node& node = graph_.nodes[step.node];
    if (step.kind != StepKind::compute || node.kind == NodeKind::counter) return close();
    if (node.kind != NodeKind::operation) return;  // it is there already
    if (pulls(step.node)) return;
    if (!fits(step.node)) close();
    if (node.results.size() == 1 && graph_.purity(step.node) == Purity::pure) open_.push_back(step.node);
    if (!open_.empty() && open_.back() == step.node && !node.op->elementwise() && node.inputs.size() == 1 &&
        uses_[node.results[0].index] == 1)
      lone_.push_back(step.node);
  }

  /// Opens a group of `id` and earlier operations that only it reads, wherever they stand, if the device has one kernel for them (a
  /// transpose that a matrix product reads as it lies): their own operands are read later instead.
  bool pulls(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (node.results.size() != 1 || graph_.purity(id) != Purity::pure) return false;
    const auto has = [](const auto& all, const auto& one) { return std::find(all.begin(), all.end(), one) != all.end(); };
    std::vector<NodeId> nodes;
    for (const NodeId earlier : lone_) {
      const bool taken = fusion_.group_of[earlier.index] >= 0 || (open_.size() > 1 && has(open_, earlier));
      if (!taken && has(node.inputs, graph_.nodes[earlier].results[0])) nodes.push_back(earlier);
    }
    nodes.push_back(id);
    if (nodes.size() < 2 || !takes_(request_for(graph_, group_of(nodes)))) return false;
    if (open_.size() == 1 && has(nodes, open_[0])) open_.clear();
    close();
    open_ = std::move(nodes);
    return true;
  }

  /// Whether the open group may go on with `node`.
  bool fits(NodeId id) {
    if (open_.empty()) return true;
    const Node& node = graph_.nodes[id];
    if (node.results.size() != 1 || graph_.purity(id) != Purity::pure || !connected(node)) return false;
    open_.push_back(id);
    const bool taken = takes_(request_for(graph_, group_of(open_)));
    open_.pop_back();
    return taken;
  }
  [[nodiscard]] bool connected(const Node& node) const {
    return std::any_of(open_.begin(), open_.end(), [&](NodeId member) {
      const Node& other = graph_.nodes[member];
      return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
        return input == other.results[0] || std::find(other.inputs.begin(), other.inputs.end(), input) != other.inputs.end();
      });
    });
  }

  [[nodiscard]] FusionGroup group_of(const std::vector<NodeId>& nodes) const {
    FusionGroup group{nodes, {}, {}};
    std::vector<std::pair<ValueId, int>> own;  // results and how often the group itself reads them
    for (const NodeId id : nodes) {
      for (const ValueId input : graph_.nodes[id].inputs) {
        const auto found = std::find_if(own.begin(), own.end(), [&](const auto& each) { return each.first == input; });
        if (found != own.end()) {
          ++found->second;
        } else if (std::find(group.inputs.begin(), group.inputs.end(), input) == group.inputs.end()) {
          group.inputs.push_back(input);
        }
      }
      own.emplace_back(graph_.nodes[id].results[0], 0);
    }
    for (const auto& [value, reads] : own) {
      if (uses_[value.index] > reads || value == own.back().first) group.results.push_back(value);
    }
    return group;
  }

  void close() {
    const std::vector<NodeId> nodes = std::exchange(open_, {});
    if (nodes.size() < 2) return;
    for (const NodeId node : nodes) fusion_.group_of[node.index] = static_cast<std::int32_t>(fusion_.groups.size());
    fusion_.groups.push_back(group_of(nodes));
  }

  const Graph& graph_;
  const DeviceProgram& program_;
  bool is_host_;
  const FusionRule& takes_;
  std::vector<int> uses_;     ///< by value: how often the device's steps read it
  std::vector<NodeId> lone_;  ///< of one operand and one reader, not element-wise
  std::vector<NodeId> open_;
  Fusion fusion_;
};

}  // namespace

Fusion find_fusion(const Program& program, DeviceId device, const FusionRule& takes) {
  return takes ? Finder(program, device, takes).run() : Fusion();
}

KernelRequest request_for(const Graph& graph, const FusionGroup& group) {
  const Node& last = graph.nodes[group.nodes.back()];
  KernelRequest request{group.nodes.back(), last.op, &last.attributes, {}, {}, {}, {}, {}, {}};
  for (const ValueId input : group.inputs) request.input_types.push_back(graph.values[input].type);
  std::vector<ValueId> operands = group.inputs;
  for (const NodeId id : group.nodes) {
    const Node& node = graph.nodes[id];
    FusedStep step{id, node.op, &node.attributes, {}, graph.values[node.results[0]].type};
    for (const ValueId input : node.inputs)
      step.operands.push_back(static_cast<std::size_t>(std::find(operands.begin(), operands.end(), input) - operands.begin()));
    operands.push_back(node.results[0]);
    request.steps.push_back(std::move(step));
  }
  for (const ValueId result : group.results) {
    request.result_types.push_back(graph.values[result].type);
    const auto place = std::find(operands.begin(), operands.end(), result) - operands.begin();
    request.written.push_back(static_cast<std::size_t>(place) - group.inputs.size());
  }
  return request;
}

}  // namespace cleave::runtime
