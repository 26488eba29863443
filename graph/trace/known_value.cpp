#include "graph/trace/known_value.h"

#include <vector>

namespace cleave {
namespace {

constexpr int kMostFoldedNodes = 64;
constexpr std::int64_t kMostFoldedElements = 64;

class Folding {
 public:
  explicit Folding(const Graph& graph) : graph_(graph) {}

  /// The number of visited nodes bounds the recursion.
  std::optional<Array> value(ValueId id) {
    if (++visited_ > kMostFoldedNodes || graph_.values[id].type.elements() > kMostFoldedElements) return std::nullopt;
    const Node& node = graph_.producer(id);
    if (node.kind == NodeKind::constant) return node.attributes.get<Array>("value");
    if (node.kind != NodeKind::operation || !foldable(node)) return std::nullopt;
    std::vector<Array> inputs;
    for (const ValueId input : node.inputs) {
      std::optional<Array> known = value(input);
      if (!known) return std::nullopt;
      inputs.push_back(*std::move(known));
    }
    Array result(graph_.values[id].type);
    const OpContext context{[](std::string_view) {}};
    const bool good = node.op->reference({node.attributes, inputs, {&result, 1}, context}).ok();
    return good ? std::optional(std::move(result)) : std::nullopt;
  }

 private:
  /// Excludes values that the command line may change (`--seed`), pinned nodes and host calls.
  static bool foldable(const Node& node) {
    return node.op->purity_for(node.attributes) == Purity::pure && !node.pin.any() && node.op->moves_to == Side::none &&
           !node.host_function() && node.results.size() == 1 && !node.attributes.find("seed");
  }

  const Graph& graph_;
  int visited_ = 0;
};

}  // namespace

std::optional<Array> known_value(const Graph& graph, ValueId value) {
  return Folding(graph).value(value);
}

}  // namespace cleave
