#include "partitioner/report/wording.h"

#include <cmath>

#include "graph/base/number_text.h"
#include "graph/base/units.h"
#include "graph/base/utf8.h"
#include "graph/written.h"

namespace cleave::planner {

std::string value_phrase(const Graph& graph, ValueId value) {
  const Value& v = graph.values[value];
  if (!v.name.empty()) return "`" + escape_controls_one_line(v.name) + "`";
  return "the result of `" + escape_controls_one_line(culprit_phrase(graph, v.producer)) + "`";
}

std::string type_phrase(const TensorType& type) {
  return to_string(type) + ", " + format_bytes(static_cast<double>(type.bytes()));
}

std::string culprit_phrase(const Graph& graph, NodeId node) {
  return graph.nodes[node].op ? written(graph, node) : graph.display_name(node);
}

std::string number(double value) {
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  return whole ? fixed_text(value, 0) : general_text(value, 3);
}

std::string ordinal(std::size_t number) {
  const std::size_t last = number % 10;
  const bool teen = number / 10 % 10 == 1;
  return std::to_string(number) + (teen ? "th" : last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string place_phrase(const SourceLocation& location) {
  if (location.line <= 0) return "";
  return std::to_string(location.line) + (location.column > 0 ? ":" + std::to_string(location.column) : "");
}

std::string times_phrase(const Graph& graph, RegionId region, double frequency) {
  const bool assumed = any_assumed(graph, region);
  const bool whole = frequency == std::floor(frequency);
  if (frequency == 1 && !assumed) return "once a run";
  return (assumed || !whole ? "about " : "") + number(frequency) + (frequency == 1 ? " time a run" : " times a run") +
         (assumed ? " (assumed)" : "");
}

std::string often_phrase(const Graph& graph, RegionId region, double frequency) {
  const std::string times = times_phrase(graph, region, frequency);
  while (region && !frequency_assumed(graph, region)) region = graph.regions[region].parent;
  if (!region) return times;
  const Node& owner = graph.nodes[graph.regions[region].owner];
  const std::string stated = times.substr(0, times.find(" (assumed)"));
  if (owner.kind == NodeKind::branch)
    return stated + ", if `then` is taken in " + percent(owner.expected, 1) + " of all cases (assumed; `probability` says otherwise)";
  return stated + ", if the loop runs " + number(owner.expected) + " times (assumed; `expect` says otherwise)";
}

std::string cause_phrase(Cause cause, const Node& node) {
  if (node.pin.by_rule() && (cause == Cause::pinned || cause == Cause::no_kernel)) return node.pin.reason;
  switch (cause) {
    case Cause::pinned: return "it is pinned there";
    case Cause::effect: return "it has an effect";
    case Cause::no_kernel: return "the accelerator has no kernel for it";
    case Cause::memory: return "the accelerator's memory is full";
    case Cause::none:
    case Cause::cheaper: break;
  }
  return "that is cheaper by the cost model";
}

std::string_view meaning_of(Via via) {
  switch (via) {
    case Via::data: return "accelerator work computes with the host's result";
    case Via::control:
      return "the host's result decides a loop or branch with accelerator work in it, or the accelerator's decision starts the host's work";
    case Via::effect: return "a call with an effect, which keeps its order, stands before one whose result accelerator work needs";
  }
  return "";
}

std::string data_phrase(const ProducedData& data) {
  return "data: " + format_seconds(data.seconds_by_all()) + " a batch on " + counted(static_cast<std::size_t>(data.workers), "worker") +
         ", step " + format_seconds(data.step_seconds);
}

std::string machine_phrase(const Machine& machine) {
  return "machine `" + escape_controls_one_line(machine.name) + "`, " + machine.provenance;
}

std::string percent(double part, double whole) {
  return number(std::round(whole > 0 ? 100 * part / whole : 0)) + " %";
}

bool any_assumed(const Graph& graph, RegionId region) {
  for (; region; region = graph.regions[region].parent) {
    if (frequency_assumed(graph, region)) return true;
  }
  return false;
}

}  // namespace cleave::planner
