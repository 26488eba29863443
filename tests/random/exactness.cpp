// Exactness of values by a fixed point over the graph: a value that depends on an approximate one is not exact.
#include "tests/random/exactness.h"

#include <cmath>
#include <cstring>

#include "graph/base/number_text.h"
#include "tests/random/vocabulary.h"

namespace cleave::testing {
namespace {

class Exactness {
 public:
  explicit Exactness(const Graph& graph) : graph_(graph), exact_(graph.values.size(), 1), decided_(graph.regions.size(), 1) {}

  IdVector<ValueId, char> find() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < graph_.nodes.size(); ++i) changed |= visit(NodeId(i));
    }
    return std::move(exact_);
  }

 private:
  bool inputs_exact(const Node& node) const {
    for (const ValueId input : node.inputs)
      if (!exact_[input]) return false;
    return true;
  }

  bool floats(const Node& node) const {
    for (const auto* values : {&node.inputs, &node.results})
      for (const ValueId value : *values)
        if (is_floating(graph_.values[value].type.dtype)) return true;
    return false;
  }

  /// Whether the loop or branch goes the same way everywhere.
  bool decides_exactly(const Node& control) const {
    bool exact = inputs_exact(control) && decided_[control.region];
    for (const RegionId region : control.regions) {
      const ValueId predicate = graph_.regions[region].predicate;
      exact = exact && (!predicate.valid() || exact_[predicate]);
    }
    return exact;
  }

  bool visit(NodeId id) {
    const Node& node = graph_.nodes[id];
    bool changed = false;
    if (is_control(node.kind)) {
      const bool exact = decides_exactly(node);
      for (const RegionId region : node.regions)
        if (decided_[region] && !exact) decided_[region] = 0, changed = true;
    }
    bool exact = inputs_exact(node) && decided_[node.region];
    if (node.owner.valid()) exact = exact && decides_exactly(graph_.nodes[node.owner]);
    if (node.kind == NodeKind::operation && floats(node)) exact = exact && !approximates(*node.op, node.attributes);
    for (const ValueId result : node.results)
      if (exact_[result] && !exact) exact_[result] = 0, changed = true;
    return changed;
  }

  const Graph& graph_;
  IdVector<ValueId, char> exact_;
  IdVector<RegionId, char> decided_;
};

bool same_element(const Array& a, const Array& b, std::int64_t i) {
  const std::int64_t size = size_of(a.dtype());
  if (std::memcmp(a.bytes() + i * size, b.bytes() + i * size, static_cast<std::size_t>(size)) == 0) return true;
  return is_floating(a.dtype()) && std::isnan(a.at(i)) && std::isnan(b.at(i));
}

}  // namespace

IdVector<ValueId, char> exact_values(const Graph& graph) {
  return Exactness(graph).find();
}

std::string first_difference(const Array& a, const Array& b) {
  if (a.type() != b.type()) return to_string(a.type()) + " instead of " + to_string(b.type());
  for (std::int64_t i = 0; i < a.size(); ++i) {
    if (!same_element(a, b, i))
      return "element " + std::to_string(i) + " is " + general_text(a.at(i), 17) + " instead of " + general_text(b.at(i), 17);
  }
  return "";
}

bool same(const Array& a, const Array& b) {
  return first_difference(a, b).empty();
}

}  // namespace cleave::testing
