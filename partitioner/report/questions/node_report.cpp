#include "partitioner/report/questions/node_report.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "graph/base/diagnostic_json.h"
#include "graph/base/json_writer.h"
#include "graph/base/spelling.h"
#include "graph/base/units.h"
#include "graph/base/utf8.h"
#include "graph/base/version.h"
#include "graph/states.h"
#include "partitioner/advice/advise.h"
#include "partitioner/report/placed_things.h"
#include "partitioner/report/transfer_figures.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

bool is_literal(const Node& node) {
  return node.kind == NodeKind::constant;
}

/// Whether a node belongs to a loop or branch and has the name of a user's value. A question for this name means the operation that makes
/// the value.
bool is_structure(const Node& node) {
  return node.kind == NodeKind::carried || node.kind == NodeKind::merge || node.kind == NodeKind::counter || is_control(node.kind);
}

// --- which nodes ------------------------------------------------------------------------------------------------------------------

struct Position {
  int line = 0, column = 0;  ///< 0: any
};

std::optional<Position> read_position(const std::string& text) {
  Position position;
  const char* const end = text.data() + text.size();
  const auto [behind, code] = std::from_chars(text.data(), end, position.line);
  if (code != std::errc() || position.line < 1) return std::nullopt;
  if (behind == end) return position;
  if (*behind != ':') return std::nullopt;
  const auto [last, again] = std::from_chars(behind + 1, end, position.column);
  return again == std::errc() && last == end && position.column > 0 ? std::optional(position) : std::nullopt;
}

template <class Meant>
std::vector<NodeId> nodes_that(const Graph& graph, Meant meant) {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (meant(NodeId(i))) nodes.push_back(NodeId(i));
  return nodes;
}

/// Removes the nodes for which `is` holds, unless no others are left.
template <class Is>
void prefer(const Graph& graph, std::vector<NodeId>& nodes, Is is) {
  std::vector<NodeId> rest;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(rest), [&](NodeId node) { return !is(graph.nodes[node]); });
  if (!rest.empty()) nodes = std::move(rest);
}

Error nothing_at(const Graph& graph, const std::string& what, const Position& position) {
  int before = 0, behind = 0;
  for (const Node& node : graph.nodes) {
    const int line = node.location.line;
    if (line <= 0) continue;
    if (line <= position.line) before = std::max(before, line);
    if (line > position.line && (behind == 0 || line < behind)) behind = line;
  }
  std::string near;
  if (before == position.line)
    near = "; something stands on that line: `--node " + std::to_string(before) + "` shows it";
  else if (before > 0 && behind > 0)
    near = "; the nearest are on lines " + std::to_string(before) + " and " + std::to_string(behind);
  else if (before + behind > 0)
    near = "; the nearest is on line " + std::to_string(before + behind);
  return {"nothing of the plan stands at `" + what + "`" + near, {}, ErrorKind::unknown};
}

// --- facts about a node -----------------------------------------------------------------------------------------------------------

struct ValueReader {
  Consumer consumer;
  std::string on;  ///< the sides of the reader; the host for an output
};

struct Known {
  NodeId node;
  Why why;
  std::vector<ValueReader> readers;
  std::vector<std::size_t> transfers_of, transfers_to;  ///< transfers of its results, and transfers of its operands
};

class Asking {
 public:
  explicit Asking(const Plan& plan) : plan_(plan), graph_(*plan.graph), things_(placed_things(plan)), figures_(transfer_figures(plan)) {}

  Result<Known> ask(NodeId node) const {
    Result<Why> answer = why(plan_.costed.problem, plan_.placement, static_cast<std::int32_t>(node.index));
    if (!answer) return answer.error();
    Known known{node, *answer, readers(node), {}, {}};
    for (std::size_t i = 0; i < plan_.transfers.items.size(); ++i) {
      if (graph_.values[plan_.transfers.items[i].value].producer == node) known.transfers_of.push_back(i);
      const std::vector<Consumer>& consumers = figures_[i].consumers;
      if (std::any_of(consumers.begin(), consumers.end(), [&](const Consumer& consumer) { return consumer.node == node; }))
        known.transfers_to.push_back(i);
    }
    return known;
  }

  // --- text -----------------------------------------------------------------------------------------------------------------------

  std::string text(const Known& known) const {
    const Node& node = graph_.nodes[known.node];
    std::string out = escape_controls_one_line(to_string(node.location)) + ": `" +
                      escape_controls_one_line(graph_.display_name(known.node)) + "` (" + std::string(graph_.op_name(known.node)) +
                      (node.results.empty() ? "" : ", " + to_string(graph_.values[node.results[0]].type)) + "), `" +
                      things_.paths[known.node] + "`\n";
    out += "  runs " + side_phrase(sides_of(plan_, known.node)) + ", " +
           times_phrase(graph_, node.region, plan_.costed.frequency[node.region]) + escape_controls_one_line(reason(known)) + "\n";
    out += side(known, kHost) + side(known, kAccelerator);
    out += "  " + change(known) + "\n";
    out += listed("reads", inputs(node)) + listed("read by", reader_names(known));
    for (const std::size_t i : known.transfers_to) out += "  waits on a transfer: " + transfer(i) + "\n";
    for (const std::size_t i : known.transfers_of)
      out += "  is moved: " + transfer(i) + ", " + escape_controls_one_line(consumers_phrase(figures_[i].consumers)) + "\n";
    return out;
  }

  // --- JSON -----------------------------------------------------------------------------------------------------------------------

  void write(const Known& known, JsonWriter& json, JsonLocations& locations) const {
    const Node& node = graph_.nodes[known.node];
    json.field("id", known.node.index);
    json.field("name", graph_.display_name(known.node));
    json.field("op", graph_.op_name(known.node));
    json.field("statement", things_.paths[known.node]);
    json.list("on", [&] {
      for (const DeviceId device : {kHost, kAccelerator})
        if (plan_.placement.has_copy(known.node.index, device)) json.value(to_string(device));
    });
    json.field("frequency", plan_.costed.frequency[node.region]);
    const bool on_host = plan_.placement.has_copy(known.node.index, kHost);
    json.field("cause", on_host ? std::optional(to_string(cause(known.node))) : std::nullopt);
    json.field("objective_seconds", plan_.placement.objective_seconds);
    choice("host", known.why.host, json);
    choice("accelerator", known.why.accelerator, json);
    json.field("moves_at_host_seconds", moves_at(known, kHost));
    json.field("moves_at_accelerator_seconds", moves_at(known, kAccelerator));
    json.list("read_by", [&] {
      for (const ValueReader& reader : known.readers) {
        json.object([&] {
          json.field("id", reader.consumer.node.valid() ? std::optional(reader.consumer.node.index) : std::nullopt);
          json.field("kind", to_string(reader.consumer.kind));
          json.field("name", reader.consumer.name);
          json.field("on", reader.on);
          locations.field(reader.consumer.location);
        });
      }
    });
    json.field("transfers", known.transfers_of);
    json.field("transfers_read", known.transfers_to);
    locations.field(node.location);
  }

 private:
  [[nodiscard]] Cause cause(NodeId node) const {
    const Cause forced = plan_.costed.forced[node.index];
    return forced == Cause::none ? Cause::cheaper : forced;
  }

  [[nodiscard]] bool host_only(const Known& known) const {
    return plan_.placement.has_copy(known.node.index, kHost) && !plan_.placement.has_copy(known.node.index, kAccelerator);
  }

  [[nodiscard]] std::string reason(const Known& known) const {
    if (is_control(graph_.nodes[known.node].kind)) return ": the host drives every loop and branch";
    if (is_state(graph_.nodes[known.node])) return ": a state stays where its next value is made";
    if (!plan_.placement.has_copy(known.node.index, kHost)) return "";
    if (!host_only(known)) return ": a copy on either side is cheaper than moving it";
    if (plan_.policy == Policy::host) return ", as everything does under `--placement host`";
    if (plan_.costed.forced[known.node.index] == Cause::pinned && graph_.nodes[known.node].kind != NodeKind::operation)
      return ": it is given on the host";
    return ", because " + cause_phrase(cause(known.node), graph_.nodes[known.node]);
  }

  std::string side(const Known& known, DeviceId device) const {
    const Choice& choice = device == kHost ? known.why.host : known.why.accelerator;
    const CostSources& sources = plan_.costed.sources[known.node];
    const CostSource source = device == kHost ? sources.host : sources.accelerator;
    std::string text = std::string("  on the ") + (device == kHost ? "host" : "accelerator") + ": " +
                       format_seconds(choice.execution_seconds) + " a run" +
                       (source == CostSource::none ? "" : " (" + std::string(to_string(source)) + ")");
    text += "; if nothing else moves, work and transfers take " + format_seconds(choice.seconds_if_alone) + " in sum, " +
            format_seconds(choice.transfer_seconds_if_alone) + " of it transfers";
    if (choice.optimum_seconds)
      text += "; the best plan with it there takes " + format_seconds(*choice.optimum_seconds);
    else
      text += "; no plan has it there";
    return text + "\n";
  }

  /// The additional cost of the best plan with the node on the other side. Empty if there is none.
  [[nodiscard]] std::optional<double> margin(const Known& known) const {
    if (known.why.on_host == known.why.on_accelerator) return std::nullopt;
    const Choice& other = known.why.on_host ? known.why.accelerator : known.why.host;
    if (!other.optimum_seconds) return std::nullopt;
    return *other.optimum_seconds - plan_.placement.objective_seconds;
  }

  /// The node's cost on `device`, in seconds of a run, at which it would change sides, all else being equal.
  [[nodiscard]] std::optional<double> moves_at(const Known& known, DeviceId device) const {
    const std::optional<double> more = margin(known);
    if (!more || plan_.costed.forced[known.node.index] != Cause::none) return std::nullopt;
    const bool here = device == (known.why.on_host ? kHost : kAccelerator);
    const double now = (device == kHost ? known.why.host : known.why.accelerator).execution_seconds;
    const double then = here ? now + *more : now - *more;
    return then >= 0 ? std::optional(then) : std::nullopt;
  }

  std::string change(const Known& known) const {
    if (is_control(graph_.nodes[known.node].kind)) return "nothing moves it";
    const Cause forced = plan_.costed.forced[known.node.index];
    const std::optional<double> more = margin(known);
    if (forced == Cause::effect) return "nothing moves it: only the host has effects";
    if (graph_.nodes[known.node].kind != NodeKind::operation && forced != Cause::none) return "it is the host's; what reads it has it sent";
    if (!more) return known.why.on_host && known.why.on_accelerator ? "it has a copy on both sides" : "pins leave it no other side";
    const std::string other = known.why.on_host ? "the accelerator" : "the host", here = known.why.on_host ? "the host" : "the accelerator";
    if (forced == Cause::no_kernel || forced == Cause::pinned) {
      const std::string what = forced == Cause::no_kernel               ? "with an accelerator kernel as fast as that"
                               : graph_.nodes[known.node].pin.by_rule() ? "without this rule"
                                                                        : "without its pin";
      return *more < 0 ? what + " it would move, and work and transfers take " + format_seconds(-*more) + " less in sum"
                       : what + " it would stay: the best plan with it there takes " + format_seconds(*more) + " more";
    }
    if (plan_.policy != Policy::optimal && *more < 0)
      return "the least sum has it on " + other + ", " + format_seconds(-*more) + " less; placement " +
             std::string(to_string(plan_.policy)) + " has it here";
    const std::optional<double> dearer = moves_at(known, known.why.on_host ? kHost : kAccelerator),
                                cheaper = moves_at(known, known.why.on_host ? kAccelerator : kHost);
    std::string text = "moves to " + other + " if it takes more than " + format_seconds(dearer.value_or(0)) + " a run on " + here;
    if (cheaper) return text + ", or less than " + format_seconds(*cheaper) + " on " + other;
    return text + "; not if it took no time on " + other;
  }

  std::vector<std::string> inputs(const Node& node) const {
    std::vector<std::string> names;
    for (const ValueId value : node.inputs) {
      const NodeId producer = graph_.values[value].producer;
      std::string name = is_literal(graph_.nodes[producer]) ? "" : name_of(producer) + " " + side_phrase(sides_of(plan_, producer));
      if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
    return names;
  }

  std::string name_of(NodeId node) const {
    const std::string place = place_phrase(graph_.nodes[node].location);
    return "`" + graph_.display_name(node) + "`" + (place.empty() ? "" : " " + place);
  }

  std::vector<ValueReader> readers(NodeId node) const {
    std::vector<ValueReader> readers;
    for (const ValueId value : graph_.nodes[node].results) {
      for (const ValueUse& use : plan_.costed.uses->of(value)) {
        const std::string name = use.node.valid() ? graph_.display_name(use.node) : graph_.values[value].name;
        const SourceLocation location = use.node.valid() ? graph_.nodes[use.node].location : SourceLocation();
        readers.push_back({{use.kind, use.node, name, location}, use.host_only() ? "host" : sides_of(plan_, use.node)});
      }
    }
    return readers;
  }

  static std::vector<std::string> reader_names(const Known& known) {
    std::vector<std::string> names;
    for (const ValueReader& reader : known.readers) {
      const std::string place = place_phrase(reader.consumer.location);
      const std::string what = reader.consumer.kind == UseKind::operand ? "" : std::string(to_string(reader.consumer.kind)) + " ";
      names.push_back(what + "`" + reader.consumer.name + "`" + (place.empty() ? "" : " " + place) + " " + side_phrase(reader.on));
    }
    return names;
  }

  static std::string listed(const std::string& what, const std::vector<std::string>& items) {
    constexpr std::size_t kMost = 12;
    if (items.empty()) return "";
    std::string text = "  " + what + " ";
    for (std::size_t i = 0; i < std::min(items.size(), kMost); ++i) text += (i == 0 ? "" : ", ") + escape_controls_one_line(items[i]);
    return text + (items.size() > kMost ? " and " + std::to_string(items.size() - kMost) + " more\n" : "\n");
  }

  std::string transfer(std::size_t i) const {
    const Transfer& t = plan_.transfers.items[i];
    return value_phrase(graph_, t.value) + (t.to == kHost ? " to the host, " : " to the accelerator, ") +
           format_bytes(static_cast<double>(t.bytes)) + " " + times_phrase(graph_, t.region, t.frequency) + ", " +
           format_seconds(t.seconds) + " a run";
  }

  static void choice(const char* name, const Choice& choice, JsonWriter& json) {
    json.object(name, [&] {
      json.field("seconds", choice.execution_seconds);
      json.field("sum_if_alone_seconds", choice.seconds_if_alone);
      json.field("transfers_if_alone_seconds", choice.transfer_seconds_if_alone);
      json.field("best_sum_seconds", choice.optimum_seconds);
    });
  }

  const Plan& plan_;
  const Graph& graph_;
  const PlacedThings things_;
  const std::vector<TransferFigures> figures_;
};

Result<std::vector<Known>> ask_all(const Asking& asking, const std::vector<NodeId>& nodes) {
  std::vector<Known> known;
  for (const NodeId node : nodes) {
    Result<Known> one = asking.ask(node);
    if (!one) return one.error();
    known.push_back(*std::move(one));
  }
  return known;
}

}  // namespace

Result<std::vector<NodeId>> find_nodes(const Plan& plan, const std::string& what) {
  const Graph& graph = *plan.graph;
  if (const std::optional<Position> position = read_position(what)) {
    std::vector<NodeId> nodes = nodes_that(graph, [&](NodeId node) {
      const SourceLocation& place = graph.nodes[node].location;
      const bool structure = is_structure(graph.nodes[node]) && !is_control(graph.nodes[node].kind);
      return !structure && place.line == position->line && (position->column == 0 || place.column == position->column);
    });
    if (nodes.empty()) return nothing_at(graph, what, *position);
    prefer(graph, nodes, is_literal);
    return nodes;
  }
  const PlacedThings things = placed_things(plan);
  std::vector<std::string> names;
  std::vector<NodeId> nodes = nodes_that(graph, [&](NodeId node) {
    const std::string name = graph.display_name(node);
    if (!is_literal(graph.nodes[node])) names.push_back(name);
    return name == what || things.paths[node] == what || (graph.nodes[node].op && graph.nodes[node].op->name == what);
  });
  if (nodes.empty()) return Error{"the plan has no node `" + what + "`" + did_you_mean(what, names), {}, ErrorKind::unknown};
  prefer(graph, nodes, is_structure);
  return nodes;
}

Result<std::string> node_text(const Plan& plan, const std::vector<NodeId>& nodes) {
  const Asking asking(plan);
  const Result<std::vector<Known>> all = ask_all(asking, nodes);
  if (!all) return all.error();
  std::string text;
  for (const Known& known : *all) text += (text.empty() ? "" : "\n") + asking.text(known);
  return text;
}

Result<std::string> node_json(const Plan& plan, const std::vector<NodeId>& nodes) {
  const Asking asking(plan);
  const Result<std::vector<Known>> all = ask_all(asking, nodes);
  if (!all) return all.error();
  std::string text;
  JsonWriter json(text, 2);
  JsonLocations locations(json);
  json.object([&] {
    json.field("cleave", kVersion);
    json.field("model", plan.graph->name);
    json.list("nodes", [&] {
      for (const Known& known : *all) json.object([&] { asking.write(known, json, locations); });
    });
  });
  return text + "\n";
}

}  // namespace cleave::planner
