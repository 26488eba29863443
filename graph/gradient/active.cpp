// ActivityAnalysis: a walk from the loss to all that it depends on, then one in program order from the asked values, repeated while loops
// carry activity round.
#include "graph/gradient/active.h"

#include <algorithm>

#include "graph/passes/renumber.h"
#include "graph/vocabulary.h"

namespace cleave::gradients {
namespace {

constexpr std::size_t kLongestPath = 6;

}  // namespace

ActivityAnalysis::ActivityAnalysis(const Graph& graph, const GradientRequest& request)
    : graph_(graph),
      request_(request),
      needed_(find_needed(false)),
      differentiated_(find_needed(true)),
      active_(dependents(request.asked, false, false)) {}

bool ActivityAnalysis::encloses_call(RegionId region) const {
  return graph_.within(graph_.nodes[request_.call].region, region);
}

std::vector<NodeId> ActivityAnalysis::find_needed(bool by_derivatives) const {
  IdVector<NodeId, bool> needed(graph_.nodes.size(), false);
  std::vector<ValueId> work{request_.loss};
  while (!work.empty()) {
    const Value& value = graph_.values[work.back()];
    const NodeId id = value.producer;
    work.pop_back();
    if (needed[id] || (by_derivatives && !is_floating(value.type.dtype))) continue;
    needed[id] = true;
    const Node& node = graph_.nodes[id];
    if (by_derivatives && !passes(node, false, false)) continue;
    // Within a loop that holds the call, a carried value is what the trip begins with; later trips do not count.
    const bool begins = node.kind == NodeKind::carried && encloses_call(node.region);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i].valid() && !(begins && i == 1)) work.push_back(node.inputs[i]);
  }
  std::vector<NodeId> in_order;
  for (const NodeId id : program_order(graph_).nodes)
    if (needed[id]) in_order.push_back(id);
  return in_order;
}

bool ActivityAnalysis::passes(const Node& node, bool through_zero, bool through_stop) const {
  if (node.kind != NodeKind::operation) return true;
  if (node.op == &op::stop_gradient) return through_stop;
  return through_zero || !node.op->gradient.is_zero();
}

IdVector<ValueId, bool> ActivityAnalysis::dependents(const std::vector<ValueId>& seeds, bool through_zero, bool through_stop) const {
  IdVector<ValueId, bool> reached(graph_.values.size(), false);
  for (const ValueId seed : seeds) reached[seed] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (const NodeId id : needed_) {
      const Node& node = graph_.nodes[id];
      if (!passes(node, through_zero, through_stop)) continue;
      const bool begins = node.kind == NodeKind::carried && encloses_call(node.region);
      const auto is_reached = [&](const ValueId& input) {
        return input.valid() && reached[input] && (through_zero || is_floating(graph_.values[input].type.dtype)) &&
               !(begins && &input != &node.inputs.front());
      };
      if (std::none_of(node.inputs.begin(), node.inputs.end(), is_reached)) continue;
      // Behind the results of a piece with a gradient of its own stand their cotangents, which are no function of its operands.
      const bool custom = node.kind == NodeKind::operation && node.op == &op::custom_gradient;
      for (std::size_t i = 0; i < (custom ? node.results.size() / 2 : node.results.size()); ++i) {
        const ValueId result = node.results[i];
        if (reached[result] || (!through_zero && !is_floating(graph_.values[result].type.dtype))) continue;
        reached[result] = true;
        changed = true;
      }
    }
  }
  return reached;
}

std::string ActivityAnalysis::name_of(ValueId value) const {
  const Value& v = graph_.values[value];
  return v.name.empty() ? graph_.display_name(v.producer) : v.name;
}

/// "`w` -> `h` -> `unique`": named values on a way from an asked value to `node`.
std::string ActivityAnalysis::path_to(NodeId node) const {
  std::vector<std::string> names{"`" + graph_.display_name(node) + "`"};
  std::vector<bool> seen(graph_.nodes.size(), false);
  for (NodeId at = node; at.valid() && !seen[at.index];) {
    seen[at.index] = true;
    NodeId next;
    for (const ValueId input : graph_.nodes[at].inputs) {
      if (!input.valid() || !active_[input]) continue;
      const bool asked = std::find(request_.asked.begin(), request_.asked.end(), input) != request_.asked.end();
      if (!graph_.values[input].name.empty() || asked) names.push_back("`" + name_of(input) + "`");
      if (!asked) next = graph_.values[input].producer;
      break;
    }
    at = next;
  }
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::reverse(names.begin(), names.end());
  if (names.size() > kLongestPath) names.erase(names.begin() + 2, names.end() - (kLongestPath - 2));
  std::string path;
  for (const std::string& name : names) path += (path.empty() ? "" : " -> ") + name;
  return path;
}

void ActivityAnalysis::refuse(NodeId node, std::string message, Diagnostics& found) const {
  found.error(DiagnosticKind::unsupported, graph_.nodes[node].location, std::move(message),
              {Note{"the loss depends on it by " + path_to(node), {}},
               Note{"the gradient is asked for here", graph_.nodes[request_.call].location}});
}

bool ActivityAnalysis::check_rules(Diagnostics& found) const {
  bool good = true;
  const auto refuse = [&](NodeId id, std::string message) {
    this->refuse(id, std::move(message), found);
    good = false;
  };
  for (const NodeId id : differentiated_) {
    const Node& node = graph_.nodes[id];
    if (node.kind == NodeKind::carried && encloses_call(node.region) && active_[node.inputs.front()] && active_[node.results.front()] &&
        std::find(request_.asked.begin(), request_.asked.end(), node.results.front()) == request_.asked.end()) {
      refuse(id, "`gradient` stands inside of the loop that carries this value; write it behind the loop, or ask for the carried value");
    }
    if (node.kind != NodeKind::operation || node.op->gradient.trace() || node.op->gradient.is_zero()) continue;
    const auto active = [&](ValueId value) { return active_[value]; };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), active) || std::none_of(node.results.begin(), node.results.end(), active))
      continue;
    if (const HostFunction* function = node.host_function())
      refuse(id, "the host function `" + function->name + "` has no gradient; declare one, or pass it `stop_gradient` of its arguments");
    else
      refuse(id, "`" + std::string(node.op->name) + "` has no gradient; `stop_gradient` takes its operand for a constant");
  }
  return good;
}

bool ActivityAnalysis::check_asked(ValueId asked, Diagnostics& found) const {
  if (dependents({asked}, false, false)[request_.loss]) return true;
  const Node& call = graph_.nodes[request_.call];
  const std::string name = "`" + name_of(asked) + "`";
  if (dependents({asked}, false, true)[request_.loss]) {
    found.add({DiagnosticKind::unused,
               Severity::warning,
               "the gradient by " + name + " is zero: `stop_gradient` stands on every way to the loss",
               call.location,
               0,
               {}});
    return true;
  }
  std::vector<Note> notes;
  const IdVector<ValueId, bool> by_any = dependents({asked}, true, true), by_rule = dependents({asked}, false, true);
  if (by_any[request_.loss]) {
    for (const NodeId id : needed_) {
      const Node& node = graph_.nodes[id];
      const auto reached = [&](ValueId input) { return input.valid() && by_rule[input]; };
      if (node.kind != NodeKind::operation || !node.op->gradient.is_zero() || std::none_of(node.inputs.begin(), node.inputs.end(), reached))
        continue;
      const std::string shown = graph_.display_name(id), op(node.op->name);
      notes.push_back(
          {"`" + shown + "`" + (shown == op ? "" : " (`" + op + "`)") + " is piecewise constant: its gradient is zero", node.location});
      break;
    }
  } else {
    for (const NodeId id : needed_) {
      for (const ValueId result : graph_.nodes[id].results) {
        if (result == asked || graph_.values[result].name.empty() || graph_.values[result].name != graph_.values[asked].name) continue;
        notes.push_back({name + " is bound again behind the loss, which reads this one", graph_.nodes[id].location});
      }
    }
    if (notes.size() > 1) notes.resize(1);
  }
  found.error(DiagnosticKind::value, call.location, "the loss does not depend on " + name + ", so there is no gradient by it",
              std::move(notes));
  return false;
}

bool ActivityAnalysis::check(Diagnostics& found) const {
  bool good = check_rules(found);
  for (const ValueId asked : request_.asked) good = check_asked(asked, found) && good;
  return good;
}

}  // namespace cleave::gradients
