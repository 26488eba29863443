// The rules of single nodes: types, operands, attributes, and results as the operation's type rule gives them. Assumes a sound structure.
#include <cmath>
#include <set>

#include "graph/lengths.h"
#include "graph/passes/verify_rules.h"
#include "graph/trips.h"

namespace cleave::detail {
namespace {

class Nodes {
 public:
  Nodes(const Graph& graph, Findings& findings) : graph_(graph), findings_(findings) {}

  void verify() {
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      if (!checked_bytes(graph_.values[ValueId(i)].type)) {
        findings_.add(describe(graph_, ValueId(i)) + " has a type of impossible size, " + to_string(graph_.values[ValueId(i)].type),
                      graph_.values[ValueId(i)].producer);
      }
    }
    if (!findings_.none()) return;  // type rules multiply extents, so types must be valid first
    for (std::size_t i = 0; i < graph_.nodes.size() && !findings_.full(); ++i) check(NodeId(i));
    for (std::size_t i = 0; i < graph_.regions.size(); ++i) check_predicate(RegionId(i));
    check_outputs();
  }

 private:
  void say(NodeId id, const std::string& what) { findings_.add(describe(graph_, id) + " " + what, id); }
  const TensorType& type(ValueId value) const { return graph_.values[value].type; }

  /// Whether the node has these numbers of inputs and results; reports it if not.
  bool counts(NodeId id, std::size_t inputs, std::size_t results) {
    const Node& node = graph_.nodes[id];
    if (node.inputs.size() == inputs && node.results.size() == results) return true;
    say(id, "must have " + std::to_string(inputs) + " inputs and " + std::to_string(results) + " results, not " +
                std::to_string(node.inputs.size()) + " and " + std::to_string(node.results.size()));
    return false;
  }

  void check(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (node.kind == NodeKind::operation) return check_operation(id);
    if (node.op) say(id, "is no operation but has an op");
    if (node.pin.any()) say(id, "is no operation but has a pin");
    if (node.recompute != Recompute::automatic) say(id, "is no operation but is marked as computed again or kept");
    switch (node.kind) {
      case NodeKind::input:
      case NodeKind::parameter: check_leaf(id); break;
      case NodeKind::constant: check_constant(id); break;
      case NodeKind::for_loop: check_for(id); break;
      case NodeKind::while_loop:
        counts(id, 0, 0);
        check_trips(id);
        break;
      case NodeKind::branch: check_branch(id); break;
      case NodeKind::counter:
        if (counts(id, 0, 1) && type(node.results[0]) != TensorType{DType::i32, {}})
          say(id, "must be i32[], not " + to_string(type(node.results[0])));
        break;
      case NodeKind::carried:
        if (counts(id, 2, 2)) check_same_types(id);
        break;
      case NodeKind::merge:
        if (counts(id, 2, 1)) check_same_types(id);
        break;
      case NodeKind::operation: break;
    }
  }

  void check_operation(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (!node.op) return findings_.add("node " + std::to_string(id.index) + " is an operation without an op", id);
    if (node.op->moves_to != Side::none && node.pin.any() && node.pin.side != node.op->moves_to)
      say(id, "is pinned to the side that it moves its operand away from");
    if (node.recompute == Recompute::always && node.op->purity_for(node.attributes) != Purity::pure)
      say(id, "is marked as computed again, but is not pure");
    Attributes normal = node.attributes;
    if (std::optional<TypeError> error = normalize_call(*node.op, node.inputs.size(), normal))
      return say(id, "is ill-formed: " + error->message);
    if (!(normal == node.attributes)) return say(id, "has attributes that are not in normal form");
    std::vector<TensorType> inputs;
    inputs.reserve(node.inputs.size());
    for (ValueId input : node.inputs) inputs.push_back(type(input));
    TypeResult result = node.op->type_rule(inputs, node.attributes);
    if (const auto* error = std::get_if<TypeError>(&result)) return say(id, "is ill-typed: " + error->message);
    const auto& types = *std::get_if<std::vector<TensorType>>(&result);
    if (types.size() != node.results.size()) {
      return say(id, "must have " + std::to_string(types.size()) + " results, not " + std::to_string(node.results.size()));
    }
    for (std::size_t k = 0; k < types.size(); ++k) {
      if (types[k] == type(node.results[k])) continue;
      say(id, "gives " + to_string(types[k]) + " as result " + std::to_string(k) + ", but " + describe(graph_, node.results[k]) + " is " +
                  to_string(type(node.results[k])));
    }
  }

  /// Inputs and parameters must be in the root region and have distinct names.
  void check_leaf(NodeId id) {
    if (!counts(id, 0, 1)) return;
    if (graph_.nodes[id].region != Graph::kRoot) say(id, "must stand in the root region, not in a loop or branch");
    const std::string& name = graph_.values[graph_.nodes[id].results[0]].name;
    if (name.empty()) say(id, "has no name");
    if (!leaves_.insert(name).second) say(id, "is the second input or parameter named `" + name + "`");
  }

  void check_outputs() {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const std::string& name = graph_.outputs[i].name;
      if (!names.insert(name).second) findings_.add_output("a second output is named `" + name + "`", i);
      check_lengths(i);
    }
  }

  void say_output(std::size_t output, const std::string& what) {
    findings_.add_output("the output `" + graph_.outputs[output].name + "` " + what, output);
  }
  void check_lengths(std::size_t output) {
    const std::vector<Output::Length>& lengths = graph_.outputs[output].lengths;
    const int rank = type(graph_.outputs[output].value).rank();
    std::set<int> axes;
    for (const Output::Length& length : lengths) {
      const Output* count = output_named(graph_, length.count);
      if (length.axis < 0 || length.axis >= rank)
        say_output(output, "has a length along axis " + std::to_string(length.axis) + " of " + std::to_string(rank));
      if (!axes.insert(length.axis).second) say_output(output, "has two lengths along axis " + std::to_string(length.axis));
      if (!count || !type(count->value).scalar() || !is_integer(type(count->value).dtype) || !count->lengths.empty())
        say_output(output, "has the length `" + length.count + "`, which is no output that holds an integer scalar");
    }
  }

  void check_constant(NodeId id) {
    if (!counts(id, 0, 1)) return;
    const Node& node = graph_.nodes[id];
    const auto* value = node.attributes.get_if<Array>("value");
    if (!value) return say(id, "has no array as its `value`");
    if (value->type() != type(node.results[0]))
      say(id, "is " + to_string(type(node.results[0])) + ", but its `value` is " + to_string(value->type()));
  }

  void check_for(NodeId id) {
    const Node& node = graph_.nodes[id];
    const auto* count = node.attributes.get_if<std::int64_t>("count");
    if (!counts(id, count ? 0 : 1, 0)) return;
    if (count && *count < 0) say(id, "has the negative count " + std::to_string(*count));
    if (!count && (!type(node.inputs[0]).scalar() || !is_integer(type(node.inputs[0]).dtype))) {
      say(id, "needs an integer scalar as its count, not " + to_string(type(node.inputs[0])));
    }
    check_trips(id);
    const std::optional<std::int64_t> prefetch = stated_prefetch(node);
    if (node.attributes.find("prefetch") && !(prefetch && *prefetch >= 0 && *prefetch <= kMostPrefetch))
      say(id, "has a `prefetch` that is no number of trips from 0 to " + std::to_string(kMostPrefetch));
    const std::vector<NodeId>& body = graph_.regions[node.regions[0]].nodes;
    for (std::size_t i = 1; i < body.size(); ++i) {
      if (graph_.nodes[body[i]].kind == NodeKind::counter) say(body[i], "must be the first node of its loop's body");
    }
  }

  void check_trips(NodeId id) {
    const double expected = graph_.nodes[id].expected;
    if (!(expected >= 0) || std::isinf(expected)) say(id, "expects an impossible number of trips");
    const std::optional<std::int64_t> most = most_trips(graph_.nodes[id]);
    if (most && *most < 1) say(id, "allows at most " + std::to_string(*most) + " trips");
    if (graph_.nodes[id].attributes.find("at_most") && !most) say(id, "has an `at_most` that is no integer");
  }

  void check_branch(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (!counts(id, 1, 0)) return;
    if (type(node.inputs[0]) != TensorType{DType::boolean, {}})
      say(id, "needs a bool[] as its predicate, not " + to_string(type(node.inputs[0])));
    if (!(node.expected >= 0 && node.expected <= 1)) say(id, "has a probability outside 0 to 1");
  }

  void check_same_types(NodeId id) {
    const Node& node = graph_.nodes[id];
    const TensorType& wanted = type(node.results[0]);
    const auto check_one = [&](ValueId value, const char* role) {
      if (type(value) != wanted)
        say(id, "is " + to_string(wanted) + ", but the " + role + ", " + describe(graph_, value) + ", is " + to_string(type(value)));
    };
    const bool merge = node.kind == NodeKind::merge;
    check_one(node.inputs[0], merge ? "value of the then arm" : "initial value");
    check_one(node.inputs[1], merge ? "value of the else arm" : "yielded value");
    if (!merge) check_one(node.results[1], "value after the loop");
  }

  void check_predicate(RegionId id) {
    const Region& region = graph_.regions[id];
    const bool required = region.kind == RegionKind::while_condition;
    const bool possible = required || region.kind == RegionKind::for_body;
    if (required && !region.predicate.valid()) findings_.add(describe(graph_, id) + " has no predicate", region.owner);
    if (!region.predicate.valid()) return;
    if (!possible) findings_.add(describe(graph_, id) + " must not have a predicate", region.owner);
    if (type(region.predicate) != TensorType{DType::boolean, {}}) {
      findings_.add(describe(graph_, id) + " needs a bool[] as its predicate, not " + to_string(type(region.predicate)), region.owner);
    }
  }

  const Graph& graph_;
  Findings& findings_;
  std::set<std::string_view> leaves_;  ///< names of inputs and parameters
};

}  // namespace

void verify_nodes(const Graph& graph, Findings& findings) {
  Nodes(graph, findings).verify();
}

}  // namespace cleave::detail
