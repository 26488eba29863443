#include "executor/memory/fusion.h"

#include <algorithm>
#include <utility>

#include "graph/states.h"

namespace cleave::runtime {
namespace {

class FusionSearch {
 public:
  FusionSearch(const Program& program, DeviceId device, const FusionRule& takes)
      : graph_(*program.graph),
        all_(program),
        program_(program.devices[device]),
        device_(device),
        takes_(takes),
        uses_(graph_.values.size(), 0) {}

  Fusion run() {
    count_uses();
    number_steps();
    fusion_.group_of.assign(graph_.nodes.size(), -1);
    for (const FusibleGroup& kernel : all_.kernels[device_]) fuse(kernel);
    return std::move(fusion_);
  }

 private:
  static constexpr std::int64_t kNowhere = -1;

  /// Counts each value's readers on this device, including the host's control steps and the outputs.
  void count_uses() {
    const auto use = [&](ValueId value) { ++uses_[value.index]; };
    const auto use_inputs = [&](NodeId node) {
      for (const ValueId input : graph_.nodes[node].inputs) use(input);
    };
    for (const Block& block : program_.blocks) {
      for (const Step& step : block.steps) {
        if (step.kind == StepKind::send) use(step.value);
        const bool reads = step.kind == StepKind::compute || (device_ == kHost && is_control(graph_.nodes[step.node].kind));
        if (reads && step.kind != StepKind::send && step.kind != StepKind::receive) use_inputs(step.node);
        for (const NodeId carried : step.carried) use_inputs(carried);
        for (const NodeId merge : step.merges) use_inputs(merge);
      }
    }
    if (device_ != kHost) {
      for (const GraphState& state : states_of(graph_)) use(state.next);
      return;
    }
    for (const Region& region : graph_.regions)
      if (region.predicate) use(region.predicate);
    for (const Output& output : graph_.outputs) use(output.value);
  }

  /// Numbers the steps so that two operations have adjacent numbers if only constants, which exist already, stand between them.
  void number_steps() {
    place_ = IdVector<NodeId, std::int64_t>(graph_.nodes.size(), kNowhere);
    std::int64_t place = 0;
    for (const Block& block : program_.blocks) {
      ++place;
      for (const Step& step : block.steps) {
        const NodeKind kind = graph_.nodes[step.node].kind;
        if (step.kind == StepKind::compute && kind != NodeKind::operation && kind != NodeKind::counter) continue;
        ++place;
        if (step.kind == StepKind::compute) place_[step.node] = place;
      }
    }
  }

  /// Fuses the longest runs of a group for which there is a kernel. That is the whole group, as the planner assumed, unless an inner value
  /// must be written after all.
  void fuse(const FusibleGroup& part) {
    std::vector<NodeId> open(part.nodes.begin(), part.nodes.begin() + static_cast<std::ptrdiff_t>(part.pulled) + 1);
    bool waiting = true;
    for (std::size_t i = 0; i < part.pulled; ++i) waiting = waiting && read_inside(part, i);
    if (open.size() > 1 && !(waiting && takes(open))) open.erase(open.begin(), open.end() - 1);
    for (std::size_t i = part.pulled + 1; i < part.nodes.size();) {
      std::vector<NodeId> longer = open;
      bool adjacent = true;
      std::int64_t next = place_[open.back()] + 1;
      do {  // one member with the operations that wait for it, which may stand anywhere before
        const std::int64_t place = place_[part.nodes[i]];
        adjacent = adjacent && (place == next || (part.waits(i) && place < next && read_inside(part, i)));
        next += place == next ? 1 : 0;
        longer.push_back(part.nodes[i]);
      } while (part.waits(i++));
      if (adjacent && takes(longer)) {
        open = std::move(longer);
      } else {
        close(std::exchange(open, {longer.back()}));
      }
    }
    close(open);
  }

  /// Whether only members of the group read the results of one: if they are sent, too, or read elsewhere, the operation cannot wait for the
  /// others.
  [[nodiscard]] bool read_inside(const FusibleGroup& part, std::size_t member) const {
    const std::vector<ValueId>& results = graph_.nodes[part.nodes[member]].results;
    return std::all_of(results.begin(), results.end(), [&](ValueId result) {
      std::ptrdiff_t readers = 0;
      for (const NodeId node : part.nodes) {
        const std::vector<ValueId>& inputs = graph_.nodes[node].inputs;
        readers += std::count(inputs.begin(), inputs.end(), result);
      }
      return readers == uses_[result.index];
    });
  }
  [[nodiscard]] bool takes(const std::vector<NodeId>& nodes) const { return takes_(request_for(graph_, make_group(graph_, nodes, uses_))); }

  void close(const std::vector<NodeId>& nodes) {
    if (nodes.size() < 2) return;
    for (const NodeId node : nodes) fusion_.group_of[node.index] = static_cast<std::int32_t>(fusion_.groups.size());
    fusion_.groups.push_back(make_group(graph_, nodes, uses_));
  }

  const Graph& graph_;
  const Program& all_;
  const DeviceProgram& program_;
  const DeviceId device_;
  const FusionRule& takes_;
  std::vector<int> uses_;                 ///< by value: number of readers on this device
  IdVector<NodeId, std::int64_t> place_;  ///< by operation computed here: its number
  Fusion fusion_;
};

}  // namespace

Fusion find_fusion(const Program& program, DeviceId device, const FusionRule& takes) {
  return takes && program.kernels.size() > device.index ? FusionSearch(program, device, takes).run() : Fusion();
}

}  // namespace cleave::runtime
