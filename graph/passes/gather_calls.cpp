#include "graph/passes/gather_calls.h"

#include <algorithm>
#include <utility>

#include "graph/host_function.h"
#include "graph/passes/renumber.h"

namespace cleave {
namespace {

class Gathering {
 public:
  Gathering(Graph graph, int workers) : graph_(std::move(graph)), workers_(workers), unit_of_(graph_.values.size(), 0) {}

  Graph run() {
    bool any = false;
    for (std::size_t r = 0; r < graph_.regions.size(); ++r) any |= order(RegionId(r));
    return any ? in_program_order(std::move(graph_)) : std::move(graph_);
  }

 private:
  /// A unit of reordering: one operation, or a loop or branch with its regions and the carried values or merges that follow it.
  struct Unit {
    std::size_t begin = 0, end = 0;  ///< in the region's list
    bool call = false, effect = false;
    bool first = false;              ///< it must precede all other units: a constant or a carried value
    std::vector<std::size_t> needs;  ///< units that it depends on
    int wave = 0;
    bool feeds = false;  ///< a call of its wave needs it
  };

  [[nodiscard]] bool is_call(NodeId id) const {
    const HostFunction* function = graph_.nodes[id].host_function();
    return function && function->beside(workers_) != HostFunction::Beside::never;
  }

  /// Returns whether any node moved.
  bool order(RegionId region) {
    const std::vector<NodeId>& nodes = graph_.regions[region].nodes;
    if (std::count_if(nodes.begin(), nodes.end(), [&](NodeId id) { return is_call(id); }) < 2) return false;
    find_units(region);
    std::vector<NodeId> ordered;
    ordered.reserve(nodes.size());
    for (std::size_t begin = 0; begin < units_.size();) {
      std::size_t end = begin;
      while (end < units_.size() && !units_[end].effect) ++end;
      for (const std::size_t unit : gathered(begin, end))
        ordered.insert(ordered.end(), nodes.begin() + static_cast<std::ptrdiff_t>(units_[unit].begin),
                       nodes.begin() + static_cast<std::ptrdiff_t>(units_[unit].end));
      for (; end < units_.size() && units_[end].effect; ++end)
        ordered.insert(ordered.end(), nodes.begin() + static_cast<std::ptrdiff_t>(units_[end].begin),
                       nodes.begin() + static_cast<std::ptrdiff_t>(units_[end].end));
      begin = end;
    }
    if (ordered == nodes) return false;
    graph_.regions[region].nodes = std::move(ordered);
    return true;
  }

  void find_units(RegionId region) {
    const std::vector<NodeId>& nodes = graph_.regions[region].nodes;
    units_.clear();
    for (std::size_t i = 0; i < nodes.size();) {
      const NodeKind kind = graph_.nodes[nodes[i]].kind;
      Unit unit;
      unit.begin = i;
      unit.end = i + 1;
      unit.call = is_call(nodes[i]);
      unit.first = kind != NodeKind::operation && !is_control(kind);
      if (is_control(kind))
        while (unit.end < nodes.size() && graph_.nodes[nodes[unit.end]].owner == nodes[i]) ++unit.end;
      for (; i < unit.end; ++i) visit(nodes[i], region, unit);
      if (unit.first) unit.needs.clear();  // a carried value's yielded operand is defined behind all units
      std::sort(unit.needs.begin(), unit.needs.end());
      unit.needs.erase(std::unique(unit.needs.begin(), unit.needs.end()), unit.needs.end());
      std::erase(unit.needs, units_.size());
      units_.push_back(std::move(unit));
    }
  }

  /// Records which values of `region` a node and its nested regions read and define.
  void visit(NodeId first, RegionId region, Unit& unit) {
    std::vector<NodeId> pending = {first};
    while (!pending.empty()) {
      const Node& node = graph_.nodes[pending.back()];
      pending.pop_back();
      unit.effect = unit.effect || (node.op && node.op->purity_for(node.attributes) == Purity::effect);
      for (const ValueId result : node.results)
        if (graph_.values[result].region == region) unit_of_[result] = units_.size();
      for (const ValueId input : node.inputs) need(input, region, unit);
      for (const RegionId inner : node.regions) {
        need(graph_.regions[inner].predicate, region, unit);
        pending.insert(pending.end(), graph_.regions[inner].nodes.begin(), graph_.regions[inner].nodes.end());
      }
    }
  }
  void need(ValueId value, RegionId region, Unit& unit) const {
    if (value.valid() && graph_.values[value].region == region) unit.needs.push_back(unit_of_[value]);
  }

  /// The new order of the units from `begin` to `end`, which contain no effect.
  std::vector<std::size_t> gathered(std::size_t begin, std::size_t end) {
    std::vector<int> calls;  // number of calls per wave
    for (std::size_t i = begin; i < end; ++i) {
      Unit& unit = units_[i];
      for (const std::size_t needed : unit.needs)
        if (needed >= begin) unit.wave = std::max(unit.wave, units_[needed].wave + (units_[needed].call ? 1 : 0));
      if (!unit.call) continue;
      const auto in_wave = [&]() -> int& {
        calls.resize(std::max(calls.size(), static_cast<std::size_t>(unit.wave) + 1));
        return calls[static_cast<std::size_t>(unit.wave)];
      };
      while (in_wave() == kCallsTogether) ++unit.wave;
      ++in_wave();
    }
    std::vector<std::size_t> order;
    for (std::size_t i = begin; i < end; ++i) order.push_back(i);
    if (std::none_of(calls.begin(), calls.end(), [](int together) { return together > 1; })) return order;
    for (std::size_t i = end; i-- > begin;) {
      const Unit& unit = units_[i];
      if (!unit.call && !unit.feeds) continue;
      for (const std::size_t needed : unit.needs)
        if (needed >= begin && units_[needed].wave == unit.wave) units_[needed].feeds = true;
    }
    const auto place = [&](std::size_t i) {
      const Unit& unit = units_[i];
      return std::pair(unit.first ? -1 : unit.wave, unit.call ? 1 : unit.first || unit.feeds ? 0 : 2);
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
    return order;
  }

  Graph graph_;
  const int workers_;
  IdVector<ValueId, std::size_t> unit_of_;  ///< the unit that defines a value
  std::vector<Unit> units_;                 ///< units of the current region
};

}  // namespace

Graph gather_calls(Graph graph, int workers) {
  return Gathering(std::move(graph), workers).run();
}

}  // namespace cleave
