#include "executor/memory/control.h"

#include <algorithm>
#include <utility>

#include "graph/trips.h"

namespace cleave::runtime {
namespace {

using Kind = DeviceControl::Kind;

class ControlSearch {
 public:
  ControlSearch(const Program& program, DeviceId device, const MemoryPlan& plan, const KernelOf& kernel_of)
      : graph_(*program.graph), program_(program.devices[device]), plan_(plan), kernel_of_(kernel_of) {}

  std::optional<FoundControl> run(std::size_t block, std::size_t index) {
    std::optional<DeviceControl> control = control_of(block, index, true);
    if (!control) return std::nullopt;
    found_.control = *std::move(control);
    return std::move(found_);
  }

 private:
  [[nodiscard]] Range range(StorageIndex s) const { return plan_.storages[static_cast<std::size_t>(s)].range; }
  /// The bytes of a scalar value, not of its storage, which may be larger.
  [[nodiscard]] Range range(ValueId value) const { return {plan_.range(value).offset, graph_.values[value].type.bytes()}; }

  [[nodiscard]] std::vector<DeviceStep> copies(const std::vector<Move>& moves) const {
    std::vector<DeviceStep> steps;
    for (const Move& move : moves) steps.push_back({{}, range(move.to), range(move.from), {}, 0});
    return steps;
  }
  static void append(const std::vector<DeviceStep>& steps, std::vector<DeviceItem>& items) {
    for (const DeviceStep& step : steps) items.push_back({step, nullptr, false});
  }

  std::optional<DeviceControl> control_of(std::size_t block, std::size_t index, bool outermost) {
    const Step& step = program_.blocks[block].steps[index];
    const StepPlan& plan = plan_.blocks[block][index];
    const Node& node = graph_.nodes[step.node];
    if (plan.double_buffers >= 0) return std::nullopt;
    DeviceControl control;
    control.node = step.node;
    bool inside = false;
    switch (step.kind) {
      case StepKind::branch:
        control.kind = Kind::branch;
        control.predicate = range(node.inputs[0]);
        inside = fill(step.blocks[0], control.body) && fill(step.blocks[1], control.otherwise);
        append(copies(plan.merge[0]), control.body);
        append(copies(plan.merge[1]), control.otherwise);
        break;
      case StepKind::while_loop:
        if (most_trips(node)) return std::nullopt;  // the bound is checked between the trips
        control.kind = Kind::while_true;
        control.predicate = range(graph_.regions[node.regions[0]].predicate);
        control.copies = copies(plan.trip);
        inside = fill(step.blocks[0], control.condition) && fill(step.blocks[1], control.body);
        break;
      default:
        if (!node.inputs.empty() && !outermost) return std::nullopt;
        control.count = node.inputs.empty() ? node.attributes.get<std::int64_t>("count") : -1;
        if (const ValueId until = graph_.regions[node.regions[0]].predicate; until && most_trips(node)) return std::nullopt;
        if (const ValueId until = graph_.regions[node.regions[0]].predicate) control.predicate = range(until);
        control.copies = copies(plan.trip);
        inside = fill(step.blocks[0], control.body);
        place_counter(control);
    }
    if (!inside) return std::nullopt;
    return control;
  }

  /// Chooses where the counter is written: by the decision, for the next iteration, or at the counter's place in the body. The second is
  /// necessary if body steps before that place may use the storage, or if the copies at an iteration's end still read it or come after the
  /// decision.
  static void place_counter(DeviceControl& control) {
    const auto overlap = [](const Range& a, const Range& b) {
      return a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
    };
    const auto any = [&](const Range& what, auto member) {
      return std::any_of(control.copies.begin(), control.copies.end(), [&](const DeviceStep& copy) { return overlap(what, copy.*member); });
    };
    control.decides_early = any(control.predicate, &DeviceStep::to);
    const auto place = std::find_if(control.body.begin(), control.body.end(), [](const DeviceItem& item) { return item.counts; });
    if (place == control.body.end()) return;
    control.counter = place->step.to;
    control.counts_inside = place != control.body.begin() || control.decides_early || any(control.counter, &DeviceStep::from);
    if (!control.counts_inside) control.body.erase(place);
  }

  bool fill(BlockIndex index, std::vector<DeviceItem>& items) {
    if (index == kNoBlock) return true;
    const auto block = static_cast<std::size_t>(index);
    found_.blocks.insert(block);
    for (std::size_t i = 0; i < program_.blocks[block].steps.size(); ++i) {
      const Step& step = program_.blocks[block].steps[i];
      if (step.kind == StepKind::send || step.kind == StepKind::receive) return false;
      if (step.kind == StepKind::compute ? !add(step.node, items) : !add_control(block, i, items)) return false;
    }
    return true;
  }

  bool add(NodeId node, std::vector<DeviceItem>& items) {
    if (graph_.nodes[node].kind == NodeKind::counter)
      items.push_back({{{}, range(graph_.nodes[node].results[0]), {}, node, 0}, nullptr, true});
    if (graph_.nodes[node].kind != NodeKind::operation) return true;  // inputs and constants are in memory already
    const std::optional<DeviceStep> step = kernel_of_(node);
    if (!step) return false;
    found_.nodes.push_back(node);
    if (step->kernel.valid()) items.push_back({*step, nullptr, false});
    return true;
  }

  bool add_control(std::size_t block, std::size_t index, std::vector<DeviceItem>& items) {
    append(copies(plan_.blocks[block][index].entry), items);
    std::optional<DeviceControl> control = control_of(block, index, false);
    if (!control) return false;
    items.push_back({{}, std::make_shared<const DeviceControl>(*std::move(control)), false});
    return true;
  }

  const Graph& graph_;
  const DeviceProgram& program_;
  const MemoryPlan& plan_;
  const KernelOf& kernel_of_;
  FoundControl found_;
};

}  // namespace

std::optional<FoundControl> find_control(const Program& program, DeviceId device, const MemoryPlan& plan, std::size_t block,
                                         std::size_t step, const KernelOf& kernel_of) {
  return ControlSearch(program, device, plan, kernel_of).run(block, step);
}

}  // namespace cleave::runtime
