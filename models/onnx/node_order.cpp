#include "models/onnx/node_order.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace cleave::models::onnx {
namespace {

using Names = std::vector<std::string_view>;

void add_reads(const NodeProto& node, Names& reads);

/// The names that an inner graph reads from the graphs around it. The depth of inner graphs is limited (kMostNestedGraphs).
void add_captured(std::string_view graph, Names& reads) {
  std::unordered_set<std::string_view> made;
  Names inner;
  for_each(graph, kGraphInput, [&](std::string_view bytes) { made.insert(parse_value_info(bytes).name); });
  for_each(graph, kGraphInitializer, [&](std::string_view bytes) { made.insert(parse_tensor(bytes).name); });
  for_each(graph, kGraphSparseInitializer, [&](std::string_view bytes) { made.insert(parse_sparse_tensor(bytes).values.name); });
  for_each(graph, kGraphNode, [&](std::string_view bytes) {
    const NodeProto node = parse_node(bytes);
    add_reads(node, inner);
    made.insert(node.outputs.begin(), node.outputs.end());
  });
  for_each(graph, kGraphOutput, [&](std::string_view bytes) { inner.push_back(parse_value_info(bytes).name); });
  for (const std::string_view name : inner)
    if (!made.contains(name)) reads.push_back(name);
}

void add_reads(const NodeProto& node, Names& reads) {
  reads.insert(reads.end(), node.inputs.begin(), node.inputs.end());
  for (const AttributeProto& attribute : node.attributes)
    if (const auto graph = attribute.graph()) add_captured(*graph, reads);
}

/// The nodes of a graph, and which of them must precede which.
class Dependencies {
 public:
  Dependencies(std::string_view message, std::uint32_t field, const std::function<bool(std::string_view)>& known) : known_(known) {
    for_each(message, field, [&](std::string_view bytes) {
      for (const std::string_view output : parse_node(bytes).outputs)
        if (!output.empty()) producer_.emplace(output, nodes_.size());
      nodes_.push_back(bytes);
    });
  }

  [[nodiscard]] bool sorted() const {
    for (std::size_t node = 0; node < nodes_.size(); ++node)
      for (const std::size_t needed : needs(node))
        if (needed >= node) return false;
    return true;
  }

  [[nodiscard]] NodeOrders::Order order() const {
    std::vector<std::vector<std::size_t>> readers(nodes_.size());
    std::vector<std::size_t> open(nodes_.size());
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      for (const std::size_t needed : needs(node)) {
        readers[needed].push_back(node);
        ++open[node];
      }
      if (open[node] == 0) ready.push(node);
    }
    NodeOrders::Order order;
    while (!ready.empty()) {
      const std::size_t node = ready.top();
      ready.pop();
      order.nodes.push_back(nodes_[node]);
      for (const std::size_t reader : readers[node])
        if (--open[reader] == 0) ready.push(reader);
    }
    if (order.nodes.size() < nodes_.size()) order.cycle = cycle(open);
    return order;
  }

 private:
  /// The nodes that compute what a node reads.
  [[nodiscard]] std::vector<std::size_t> needs(std::size_t node) const {
    Names reads;
    add_reads(parse_node(nodes_[node]), reads);
    std::vector<std::size_t> needed;
    for (const std::string_view name : reads)
      if (const auto found = producer_.find(name); found != producer_.end() && !known_(name)) needed.push_back(found->second);
    return needed;
  }

  /// `open`: for each node, the number of nodes before it that could not be ordered. A walk from such a node to one that it needs ends in a
  /// cycle.
  [[nodiscard]] std::vector<std::string_view> cycle(const std::vector<std::size_t>& open) const {
    std::vector<std::size_t> walk;
    std::unordered_map<std::size_t, std::size_t> position;
    auto node =
        static_cast<std::size_t>(std::find_if(open.begin(), open.end(), [](std::size_t count) { return count > 0; }) - open.begin());
    while (position.emplace(node, walk.size()).second) {
      walk.push_back(node);
      const std::vector<std::size_t> needed = needs(node);
      node = *std::find_if(needed.begin(), needed.end(), [&](std::size_t each) { return open[each] > 0; });
    }
    walk.erase(walk.begin(), walk.begin() + static_cast<std::ptrdiff_t>(position.at(node)));
    std::reverse(walk.begin(), walk.end());
    std::rotate(walk.begin(), std::min_element(walk.begin(), walk.end()), walk.end());
    std::vector<std::string_view> nodes;
    for (const std::size_t each : walk) nodes.push_back(nodes_[each]);
    return nodes;
  }

  const std::function<bool(std::string_view)>& known_;
  std::vector<std::string_view> nodes_;
  std::unordered_map<std::string_view, std::size_t> producer_;
};

}  // namespace

const NodeOrders::Order* NodeOrders::find(std::string_view message, std::uint32_t field,
                                          const std::function<bool(std::string_view)>& known) {
  const auto [entry, added] = orders_.try_emplace(message.data());
  if (added) {
    const Dependencies nodes(message, field, known);
    if (!nodes.sorted()) entry->second = nodes.order();
  }
  return entry->second ? &*entry->second : nullptr;
}

}  // namespace cleave::models::onnx
