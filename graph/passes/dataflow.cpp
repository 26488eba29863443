// Each node gets a hash of its operation, its operands and its readers. A walk from the nodes without readers back to their operands gives
// the order; the hashes decide where the walk has a choice.
#include "graph/passes/dataflow.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "graph/passes/renumber.h"

namespace cleave {
namespace {

using Number = std::uint64_t;

constexpr Number mixed(Number a, Number b) {
  Number x = a * 0x9e3779b97f4a7c15U + b + 0x7f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

Number number_of(std::string_view text) {
  Number number = text.size();
  for (const char each : text) number = mixed(number, static_cast<unsigned char>(each));
  return number;
}

Number number_of(const TensorType& type) {
  Number number = static_cast<Number>(type.dtype);
  for (const std::int64_t dim : type.shape) number = mixed(number, static_cast<Number>(dim));
  return number;
}

/// A hash of axes, sizes and similar attributes. Other attributes do not change how an operation can run.
Number number_of(const Attributes& attributes) {
  Number number = 0;
  for (const auto& [name, value] : attributes) {
    Number one = number_of(name);
    if (const auto* whole = std::get_if<std::int64_t>(&value)) one = mixed(one, static_cast<Number>(*whole));
    if (const auto* flag = std::get_if<bool>(&value)) one = mixed(one, *flag ? 1 : 0);
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
      for (const std::int64_t each : *list) one = mixed(one, static_cast<Number>(each));
    number = mixed(number, one);
  }
  return number;
}

/// Whether a node's values exist when its region is entered.
bool is_there(NodeKind kind) {
  return kind == NodeKind::input || kind == NodeKind::parameter || kind == NodeKind::constant || kind == NodeKind::counter ||
         kind == NodeKind::carried;
}

/// By node: a hash of its operation, operands and readers, which does not depend on its position in the program.
std::vector<Number> numbers_of(const Graph& graph) {
  const std::size_t count = graph.nodes.size();
  std::vector<Number> alone(count), inside(count, 0), read(count, 0), numbers(count);
  const std::vector<NodeId> order = program_order(graph).nodes;  // nodes inside a loop come after it
  std::vector<std::size_t> position(count);
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i].index] = i;
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = graph.nodes[*id];
    Number number = mixed(static_cast<Number>(node.kind), inside[id->index]);
    if (node.op) number = mixed(number, mixed(number_of(node.op->name), number_of(node.attributes)));
    for (const ValueId result : node.results) number = mixed(number, number_of(graph.values[result].type));
    alone[id->index] = number;
    if (const NodeId owner = graph.regions[node.region].owner)
      inside[owner.index] += mixed(static_cast<Number>(graph.regions[node.region].kind), number);
  }
  const auto comes_round = [&](NodeId producer, NodeId reader) { return position[producer.index] >= position[reader.index]; };
  const auto add_readers = [&](const std::vector<Number>& own, std::vector<Number>& sums) {
    // By node: its hash with readers. At a back edge the reader's own hash is used instead, so that there is no cycle.
    std::vector<Number> whole(count, 0);
    std::fill(sums.begin(), sums.end(), 0);
    for (const Output& output : graph.outputs) sums[graph.values[output.value].producer.index] += 1;
    for (const Region& region : graph.regions)
      if (region.predicate) sums[graph.values[region.predicate].producer.index] += 2;
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      whole[id->index] = mixed(own[id->index], sums[id->index]);
      const Node& node = graph.nodes[*id];
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        const Value& value = graph.values[node.inputs[k]];
        const Number reader = comes_round(value.producer, *id) ? alone[id->index] : whole[id->index];
        sums[value.producer.index] += mixed(reader, mixed(k, value.result));
      }
    }
    for (std::size_t i = 0; i < count; ++i) sums[i] = mixed(own[i], sums[i]);
  };
  add_readers(alone, read);
  for (const NodeId id : order) {
    // Equal constants are one node or several, depending on where they stand; so the readers of a constant do not count.
    Number& number = numbers[id.index] = graph.nodes[id].kind == NodeKind::constant ? alone[id.index] : read[id.index];
    for (const ValueId input : graph.nodes[id].inputs) {
      const Value& value = graph.values[input];
      number = mixed(number, comes_round(value.producer, id) ? 3 : mixed(numbers[value.producer.index], value.result));
    }
  }
  add_readers(numbers, read);
  return read;
}

/// Which nodes have an effect, or contain one that has.
std::vector<char> with_effects(const Graph& graph) {
  std::vector<char> effects(graph.nodes.size(), 0);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const NodeId id(i);
    if (graph.nodes[id].kind == NodeKind::operation && graph.purity(id) == Purity::effect) effects[i] = 1;
    const NodeId owner = graph.regions[graph.nodes[id].region].owner;
    if (effects[i] && owner) effects[owner.index] = 1;
  }
  return effects;
}

}  // namespace

Dataflow::Dataflow(const Graph& graph) {
  collect_before(graph);
  find_order(graph);
}

void Dataflow::collect_before(const Graph& graph) {
  std::vector<std::pair<NodeId, NodeId>> pairs;  // reader, producer
  pairs.reserve(2 * graph.nodes.size());
  // `reader` reads the value in `region`. None: the region reads it at its end, so that no node must follow.
  const auto add = [&](NodeId reader, RegionId region, ValueId read) {
    const Value& value = graph.values[read];
    while (region != value.region) {
      const Region& at = graph.regions[region];
      reader = at.kind == RegionKind::while_body ? NodeId() : at.owner;  // the body starts at the end of its condition region
      region = at.parent;
    }
    const Node& producer = graph.nodes[value.producer];
    const NodeId maker = producer.region == value.region ? value.producer : producer.owner;  // or the loop, for a loop's result
    if (reader && !is_there(graph.nodes[maker].kind)) pairs.emplace_back(reader, maker);
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id(i);
    const Node& node = graph.nodes[id];
    if (node.kind == NodeKind::carried) {
      add(node.owner, graph.nodes[node.owner].region, node.inputs[0]);
      add(NodeId(), graph.nodes[node.owner].regions.back(), node.inputs[1]);
    } else if (node.kind == NodeKind::merge) {
      pairs.emplace_back(id, node.owner);
      for (std::size_t arm = 0; arm < 2; ++arm) add(NodeId(), graph.nodes[node.owner].regions[arm], node.inputs[arm]);
    } else {
      for (const ValueId input : node.inputs) add(id, node.region, input);
    }
  }
  for (std::size_t i = 0; i < graph.regions.size(); ++i)
    if (graph.regions[RegionId(i)].predicate) add(NodeId(), RegionId(i), graph.regions[RegionId(i)].predicate);
  const std::vector<char> effects = with_effects(graph);
  for (const Region& region : graph.regions) {
    NodeId last;
    for (const NodeId id : region.nodes) {
      if (!effects[id.index]) continue;
      if (last) pairs.emplace_back(id, last);
      last = id;
    }
  }
  first_before_.assign(graph.nodes.size() + 1, 0);
  for (const auto& [reader, maker] : pairs) ++first_before_[reader.index + 1];
  for (std::size_t i = 1; i < first_before_.size(); ++i) first_before_[i] += first_before_[i - 1];
  std::vector<std::size_t> next(first_before_.begin(), first_before_.end() - 1);
  before_.resize(pairs.size());
  for (const auto& [reader, maker] : pairs) {
    const auto begin = before_.begin() + static_cast<std::ptrdiff_t>(first_before_[reader.index]);
    const auto end = before_.begin() + static_cast<std::ptrdiff_t>(next[reader.index]);
    if (std::find(begin, end, maker) == end) before_[next[reader.index]++] = maker;
  }
  std::size_t kept = 0;  // closes the gaps that removed duplicates left
  for (std::size_t i = 0; i + 1 < first_before_.size(); ++i) {
    const std::size_t begin = std::exchange(first_before_[i], kept);
    for (std::size_t k = begin; k < next[i]; ++k) before_[kept++] = before_[k];
  }
  first_before_.back() = kept;
  before_.resize(kept);
}

void Dataflow::find_order(const Graph& graph) {
  const std::vector<Number> numbers = numbers_of(graph);
  std::vector<char> awaited(graph.nodes.size(), 0), reached(graph.nodes.size(), 0);
  for (const NodeId maker : before_) awaited[maker.index] = 1;
  std::vector<std::size_t> output(graph.nodes.size(), std::numeric_limits<std::size_t>::max());
  for (std::size_t i = graph.outputs.size(); i-- > 0;) output[graph.values[graph.outputs[i].value].producer.index] = i;
  const auto by_number = [&](NodeId a, NodeId b) { return std::pair(numbers[a.index], a) < std::pair(numbers[b.index], b); };
  for (const Region& region : graph.regions) {
    std::vector<NodeId> ends, order;
    for (const NodeId id : region.nodes)
      if (!awaited[id.index] && !is_there(graph.nodes[id].kind)) ends.push_back(id);
    std::sort(ends.begin(), ends.end(),
              [&](NodeId a, NodeId b) { return output[a.index] != output[b.index] ? output[a.index] < output[b.index] : by_number(a, b); });
    std::vector<std::pair<NodeId, std::size_t>> stack;  // a node, and the index of its predecessor to visit next
    const auto visit = [&](NodeId id) {
      if (std::exchange(reached[id.index], 1)) return;
      const auto begin = before_.begin() + static_cast<std::ptrdiff_t>(first_before_[id.index]);
      if (is_control(graph.nodes[id].kind)) std::sort(begin, begin + static_cast<std::ptrdiff_t>(before(id).size()), by_number);
      stack.emplace_back(id, 0);
    };
    for (const NodeId end : ends) {
      visit(end);
      while (!stack.empty()) {
        auto& [node, next] = stack.back();
        if (next < before(node).size()) {
          visit(before(node)[next++]);
        } else {
          order.push_back(node);
          stack.pop_back();
        }
      }
    }
    order_.push_back(std::move(order));
  }
}

}  // namespace cleave
