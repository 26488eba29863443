// Verify mode: one executed node against its op's meaning.
#include "executor/compare.h"
#include "executor/prepared.h"

namespace cleave {
std::optional<Error> check_against_meaning(const Prepared& prepared, NodeId id, std::span<const Array> inputs,
                                           std::span<const Array> results) {
  const Graph& graph = prepared.graph();
  const Node& node = graph.nodes[id];
  const Attributes& attributes = prepared.attributes(id);
  std::vector<Array> expected;
  for (const Array& result : results) {
    Result<Array> array = Array::allocate(result.type());
    if (!array) return at_node(graph, id, array.error());
    expected.push_back(std::move(*array));
  }
  OpContext silent{[](std::string_view) {}};
  if (Status status = node.op->meaning({attributes, inputs, expected, silent}); !status) return at_node(graph, id, status.error());
  double length = reduction_length(*node.op, attributes, inputs, results);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::optional<std::string> what = difference(results[i], expected[i], length)) {
      return at_node(graph, id, Error{"`" + graph.display_name(id) + "` differs from its meaning: " + *what, {}, ErrorKind::machine});
    }
  }
  return std::nullopt;
}

}  // namespace cleave
