// same_program: compares region by region and node by node in program order, independent of id numbers.
#include "graph/passes/same_program.h"

#include <algorithm>

#include "graph/lengths.h"

namespace cleave {
namespace {

class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b) : a_(a), b_(b), regions_(a.regions.size()), nodes_(a.nodes.size()), values_(a.values.size()) {}

  bool same() {
    if (a_.regions.size() != b_.regions.size() || a_.nodes.size() != b_.nodes.size() || a_.values.size() != b_.values.size()) return false;
    return pair_up() && same_uses();
  }

 private:
  /// Walks both region trees in parallel and records which node and value of `b` corresponds to which of `a`.
  bool pair_up() {
    std::vector<RegionId> open{Graph::kRoot};
    regions_[Graph::kRoot] = Graph::kRoot;
    while (!open.empty()) {
      const RegionId region = open.back();
      open.pop_back();
      const Region& left = a_.regions[region];
      const Region& right = b_.regions[regions_[region]];
      if (left.kind != right.kind || left.nodes.size() != right.nodes.size()) return false;
      for (std::size_t i = 0; i < left.nodes.size(); ++i) {
        const Node& x = a_.nodes[left.nodes[i]];
        const Node& y = b_.nodes[right.nodes[i]];
        if (!same_node(x, y)) return false;
        nodes_[left.nodes[i]] = right.nodes[i];
        for (std::size_t k = 0; k < x.results.size(); ++k) {
          if (a_.values[x.results[k]].type != b_.values[y.results[k]].type) return false;
          values_[x.results[k]] = y.results[k];
        }
        for (std::size_t k = 0; k < x.regions.size(); ++k) {
          regions_[x.regions[k]] = y.regions[k];
          open.push_back(x.regions[k]);
        }
      }
    }
    return true;
  }

  /// Compares everything except references to other nodes and values.
  static bool same_node(const Node& x, const Node& y) {
    return x.kind == y.kind && x.op == y.op && x.inputs.size() == y.inputs.size() && x.results.size() == y.results.size() &&
           x.regions.size() == y.regions.size() && x.pin == y.pin && x.recompute == y.recompute && x.expected == y.expected &&
           x.assumed == y.assumed && x.allowed == y.allowed && x.attributes == y.attributes;
  }

  bool same_value(ValueId x, ValueId y) const { return (x.valid() ? values_[x] : ValueId()) == y; }

  bool same_lengths(const Output& x, const Output& y) const {
    return std::equal(x.lengths.begin(), x.lengths.end(), y.lengths.begin(), y.lengths.end(),
                      [&](const Output::Length& left, const Output::Length& right) {
                        const Output *a = output_named(a_, left.count), *b = output_named(b_, right.count);
                        return left.axis == right.axis && a && b && same_value(a->value, b->value);
                      });
  }

  bool same_uses() const {
    for (std::size_t i = 0; i < a_.nodes.size(); ++i) {
      const Node& x = a_.nodes[NodeId(i)];
      if (!nodes_[NodeId(i)].valid()) return false;  // belongs to no region
      const Node& y = b_.nodes[nodes_[NodeId(i)]];
      if ((x.owner.valid() ? nodes_[x.owner] : NodeId()) != y.owner) return false;
      for (std::size_t k = 0; k < x.inputs.size(); ++k) {
        if (!same_value(x.inputs[k], y.inputs[k])) return false;
      }
    }
    for (std::size_t i = 0; i < a_.regions.size(); ++i) {
      const RegionId other = regions_[RegionId(i)];
      if (!other.valid() || !same_value(a_.regions[RegionId(i)].predicate, b_.regions[other].predicate)) return false;
    }
    if (a_.outputs.size() != b_.outputs.size()) return false;
    for (std::size_t i = 0; i < a_.outputs.size(); ++i) {
      if (!same_value(a_.outputs[i].value, b_.outputs[i].value) || !same_lengths(a_.outputs[i], b_.outputs[i])) return false;
    }
    return true;
  }

  const Graph& a_;
  const Graph& b_;
  IdVector<RegionId, RegionId> regions_;
  IdVector<NodeId, NodeId> nodes_;
  IdVector<ValueId, ValueId> values_;
};

}  // namespace

bool same_program(const Graph& a, const Graph& b) {
  return Comparison(a, b).same();
}

}  // namespace cleave
