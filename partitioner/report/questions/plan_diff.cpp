#include "partitioner/report/questions/plan_diff.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "graph/base/diagnostic_json.h"
#include "graph/base/json_reader.h"
#include "graph/base/json_writer.h"
#include "graph/base/units.h"
#include "graph/base/utf8.h"
#include "graph/base/version.h"
#include "partitioner/report/placed_things.h"
#include "partitioner/report/table.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

constexpr double kSame = 0.01;  ///< relative; smaller differences in cost are not reported as reasons

struct OldNode {
  std::string on, cause;
  double host_seconds = 0, accelerator_seconds = 0, frequency = 0;
  bool operation = false;
};

struct OldPlan {
  std::string machine;
  double predicted_seconds = 0, objective_seconds = 0;
  std::map<std::string, OldNode> nodes;
  std::map<PlacedThings::Move, PlanDiff::Transfer> transfers;
};

// --- the old document -------------------------------------------------------------------------------------------------------------

class PlanReader {
 public:
  PlanReader(const JsonTree& tree, const std::string& file) : tree_(tree), file_(file) {}

  Result<OldPlan> read() {
    OldPlan old;
    if (tree_.items[0].kind != JsonTree::Kind::object) return error("it is no object");
    const auto placement = tree_.find(0, "placement"), nodes = tree_.find(0, "nodes"), transfers = tree_.find(0, "transfers");
    if (!placement || !is_list(nodes) || !is_list(transfers)) return error("it has no `placement`, `nodes` and `transfers`");
    if (const auto machine = tree_.find(0, "machine")) old.machine = text(*machine, "name");
    old.predicted_seconds = number(*placement, "predicted_seconds");
    old.objective_seconds = number(*placement, "objective_seconds");
    for (const std::size_t node : tree_.children(*nodes)) {
      const std::string path = text(node, "statement");
      if (path.empty()) return error("its nodes have no `statement`, as an older cleave wrote it");
      old.nodes[path] = {sides(node),
                         text(node, "cause"),
                         number(node, "host_seconds"),
                         number(node, "accelerator_seconds"),
                         number(node, "frequency"),
                         is_operation(text(node, "op"))};
    }
    for (const std::size_t transfer : tree_.children(*transfers)) {
      const PlanDiff::Transfer moved{text(transfer, "statement"), text(transfer, "to"),          text(transfer, "within"),
                                     number(transfer, "bytes"),   number(transfer, "frequency"), number(transfer, "seconds")};
      if (moved.statement.empty() || moved.to.empty()) return error("its transfers have no `statement`");
      old.transfers[{moved.statement, moved.to, moved.within}] = moved;
    }
    return old;
  }

 private:
  [[nodiscard]] Error error(const std::string& what) const {
    return {file_ + ": not a plan to compare with: " + what + "; `cleave explain MODEL --json` writes one", {}, ErrorKind::file};
  }
  [[nodiscard]] bool is_list(const std::optional<std::size_t>& item) const {
    return item && tree_.items[*item].kind == JsonTree::Kind::list;
  }
  [[nodiscard]] double number(std::size_t object, std::string_view key) const {
    const auto found = tree_.find(object, key);
    return found && tree_.items[*found].scalar.is_number() ? tree_.items[*found].scalar.number : 0;
  }
  [[nodiscard]] std::string text(std::size_t object, std::string_view key) const {
    const auto found = tree_.find(object, key);
    return found ? tree_.items[*found].scalar.text : "";
  }
  [[nodiscard]] std::string sides(std::size_t node) const {
    const auto on = tree_.find(node, "on");
    std::string sides;
    if (!is_list(on)) return sides;
    for (const std::size_t side : tree_.children(*on)) sides += (sides.empty() ? "" : ",") + tree_.items[side].scalar.text;
    return sides;
  }
  /// Whether `op` names an operation. Nodes of other kinds have the name of their kind.
  static bool is_operation(std::string_view op) {
    for (const NodeKind kind : {NodeKind::input, NodeKind::parameter, NodeKind::constant, NodeKind::for_loop, NodeKind::while_loop,
                                NodeKind::branch, NodeKind::counter, NodeKind::carried, NodeKind::merge})
      if (op == to_string(kind)) return false;
    return true;
  }

  const JsonTree& tree_;
  const std::string& file_;
};

// --- what differs -----------------------------------------------------------------------------------------------------------------

bool differ(double a, double b) {
  return std::abs(a - b) > kSame * std::max(a, b);
}

std::vector<std::string> reasons(const Plan& plan, NodeId node, const OldNode& old) {
  std::vector<std::string> why;
  const PlacementProblem::Node& costs = plan.costed.problem.nodes[node.index];
  const double frequency = plan.costed.frequency[plan.graph->nodes[node].region];
  const bool on_host = plan.placement.has_copy(node.index, kHost);
  const Cause forced = plan.costed.forced[node.index];
  const std::string cause = on_host ? std::string(to_string(forced == Cause::none ? Cause::cheaper : forced)) : "";
  const bool was_forced = !old.cause.empty() && old.cause != to_string(Cause::cheaper);
  if (plan.policy == Policy::host) why.emplace_back("on the host is everything under `--placement host`");
  if (on_host && forced != Cause::none) why.push_back("runs on the host because " + cause_phrase(forced, plan.graph->nodes[node]));
  if (was_forced && old.cause != cause) why.push_back("was on the host by `" + old.cause + "`");
  if (differ(frequency, old.frequency)) why.push_back("runs " + number(frequency) + " times, was " + number(old.frequency));
  if (differ(costs.host_seconds, old.host_seconds))
    why.push_back("takes " + format_seconds(costs.host_seconds) + " on the host, was " + format_seconds(old.host_seconds));
  if (differ(costs.accelerator_seconds, old.accelerator_seconds))
    why.push_back("takes " + format_seconds(costs.accelerator_seconds) + " on the accelerator, was " +
                  format_seconds(old.accelerator_seconds));
  if (why.empty()) why.emplace_back("costs what it did; what it exchanges values with moved, or moving them costs otherwise");
  return why;
}

void compare_nodes(const Plan& plan, const PlacedThings& things, const OldPlan& old, PlanDiff& diff) {
  for (const auto& [path, node] : things.operations) {
    const auto was = old.nodes.find(path);
    const std::string is = sides_of(plan, node);
    if (was == old.nodes.end())
      diff.fresh.push_back(node);
    else if (was->second.on != is)
      diff.moved.push_back({node, was->second.on, is, reasons(plan, node, was->second)});
  }
  const auto in_order = [](const auto& a, const auto& b) { return a.node < b.node; };
  std::sort(diff.moved.begin(), diff.moved.end(), in_order);
  std::sort(diff.fresh.begin(), diff.fresh.end());
  for (const auto& [path, node] : old.nodes)
    if (node.operation && !things.operations.contains(path)) diff.gone.push_back(path);
}

void compare_transfers(const Plan& plan, const PlacedThings& things, OldPlan& old, PlanDiff& diff) {
  for (std::size_t i = 0; i < things.moves.size(); ++i) {
    const PlacedThings::Move& move = things.moves[i];
    const Transfer& t = plan.transfers.items[i];
    if (old.transfers.erase(move) == 0)
      diff.gained.push_back({move.path, move.to, move.within, static_cast<double>(t.bytes), t.frequency, t.seconds});
  }
  for (const auto& [move, transfer] : old.transfers) diff.lost.push_back(transfer);
}

std::string change(double is, double was) {
  std::string text = format_seconds(is) + ", was " + format_seconds(was);
  if (!(was > 0) || is == was) return text;
  const double percent = std::round((is / was - 1) * 1000) / 10;
  return text + " (" + (percent > 0 ? "+" : "") + number(percent) + " %)";
}

}  // namespace

Result<PlanDiff> diff_with(const Plan& plan, std::string_view text, const std::string& file) {
  const std::optional<JsonTree> tree = JsonTree::parse(text);
  if (!tree) return Error{file + ": not a plan to compare with: it is no JSON, or cut off", {}, ErrorKind::file};
  Result<OldPlan> old = PlanReader(*tree, file).read();
  if (!old) return old.error();
  const PlacedThings things = placed_things(plan);
  PlanDiff diff;
  diff.predicted_seconds = plan.predicted_seconds;
  diff.objective_seconds = plan.placement.objective_seconds;
  diff.was_predicted_seconds = old->predicted_seconds;
  diff.was_machine = old->machine;
  diff.was_objective_seconds = old->objective_seconds;
  compare_nodes(plan, things, *old, diff);
  compare_transfers(plan, things, *old, diff);
  return diff;
}

std::string to_text(const PlanDiff& diff, const Plan& plan) {
  const PlacedThings things = placed_things(plan);
  const Graph& graph = *plan.graph;
  std::string text = "predicted " + change(diff.predicted_seconds, diff.was_predicted_seconds) + " a run\n";
  if (diff.was_machine != plan.machine.name)
    text += "machine `" + escape_controls_one_line(plan.machine.name) + "`, was `" + escape_controls_one_line(diff.was_machine) + "`\n";
  text += "work and transfers in sum: " + change(diff.objective_seconds, diff.was_objective_seconds) + "\n";
  const auto head = [&](std::size_t count, const std::string& what, const std::string& happened) {
    if (count > 0) text += "\n" + counted(count, what) + happened + "\n";
    return count > 0;
  };
  if (head(diff.moved.size(), "operation", " moved")) {
    for (const PlanDiff::Moved& moved : diff.moved) {
      text += "  " + place_phrase(graph.nodes[moved.node].location) + "  `" + things.paths[moved.node] + "` runs " + side_phrase(moved.is) +
              ", was " + side_phrase(moved.was) + "\n";
      for (const std::string& why : moved.why) text += "    " + escape_controls_one_line(why) + "\n";
    }
  }
  if (head(diff.fresh.size(), "operation", " new")) {
    for (const NodeId node : diff.fresh)
      text +=
          "  " + place_phrase(graph.nodes[node].location) + "  `" + things.paths[node] + "` " + side_phrase(sides_of(plan, node)) + "\n";
  }
  if (head(diff.gone.size(), "operation", " gone")) {
    for (const std::string& path : diff.gone) text += "  `" + escape_controls_one_line(path) + "`\n";
  }
  const auto transfers = [&](const std::vector<PlanDiff::Transfer>& items, const std::string& happened) {
    if (!head(items.size(), "transfer", happened)) return;
    Table table;
    for (const PlanDiff::Transfer& t : items)
      table.add(t.seconds, {t.statement, t.to == "host" ? "to host" : "to accelerator", "in " + t.within, format_bytes(t.bytes),
                            (t.frequency == 1 ? "once a run" : number(t.frequency) + " times a run"), format_seconds(t.seconds)});
    text += table.text(std::numeric_limits<std::size_t>::max());
  };
  transfers(diff.gained, " gained");
  transfers(diff.lost, " lost");
  if (diff.moved.empty() && diff.fresh.empty() && diff.gone.empty() && diff.gained.empty() && diff.lost.empty())
    text += "nothing moved, and the same values are transferred\n";
  return text;
}

std::string to_json(const PlanDiff& diff, const Plan& plan) {
  const PlacedThings things = placed_things(plan);
  std::string text;
  JsonWriter json(text, 2);
  JsonLocations locations(json);
  const auto transfers = [&](const char* name, const std::vector<PlanDiff::Transfer>& items) {
    json.list(name, [&] {
      for (const PlanDiff::Transfer& t : items) {
        json.object([&] {
          json.field("statement", t.statement);
          json.field("to", t.to);
          json.field("within", t.within);
          json.field("bytes", t.bytes);
          json.field("frequency", t.frequency);
          json.field("seconds", t.seconds);
        });
      }
    });
  };
  const auto node = [&](NodeId id) {
    json.field("id", id.index);
    json.field("statement", things.paths[id]);
    json.field("on", sides_of(plan, id));
    locations.field(plan.graph->nodes[id].location);
  };
  json.object([&] {
    json.field("cleave", kVersion);
    json.field("model", plan.graph->name);
    json.field("was_machine", diff.was_machine);
    json.field("predicted_seconds", diff.predicted_seconds);
    json.field("was_predicted_seconds", diff.was_predicted_seconds);
    json.field("objective_seconds", diff.objective_seconds);
    json.field("was_objective_seconds", diff.was_objective_seconds);
    json.list("moved", [&] {
      for (const PlanDiff::Moved& moved : diff.moved) {
        json.object([&] {
          node(moved.node);
          json.field("was_on", moved.was);
          json.field("why", moved.why);
        });
      }
    });
    json.list("new", [&] {
      for (const NodeId id : diff.fresh) json.object([&] { node(id); });
    });
    json.field("gone", diff.gone);
    transfers("transfers_gained", diff.gained);
    transfers("transfers_lost", diff.lost);
  });
  return text + "\n";
}

}  // namespace cleave::planner
