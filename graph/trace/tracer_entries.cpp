// Tracer: counts of entries, which are states of the program. While the program is recorded, a count is a constant; the finished graph gets
// a parameter in its place, and loops and branches carry it from there to the program's end.
#include <algorithm>

#include "graph/trace/tracer_state.h"
#include "graph/vocabulary.h"

namespace cleave {
namespace {

constexpr std::string_view kName = "pass";  ///< `pass.1` is no name that a model's own value can have

/// Threads one count through the finished graph of `tracer`.
class EntryCount {
 public:
  EntryCount(Tracer& tracer, ValueId placeholder) : tracer_(tracer), placeholder_(placeholder) {
    const Graph& graph = tracer.graph();
    for (RegionId region = graph.values[placeholder].region; region.valid(); region = graph.regions[region].parent) path_.push_back(region);
    std::reverse(path_.begin(), path_.end());
  }

  /// The node of the root region before which the count has to be known.
  [[nodiscard]] NodeId first() const {
    const Graph& graph = tracer_.graph();
    return path_.size() == 1 ? graph.values[placeholder_].producer : graph.regions[path_[1]].owner;
  }

  /// The count at the end of the region `path_[at]` if it is `count` at its beginning. `replace` is called with the count at the place of
  /// the placeholder.
  template <class F>
  Operand thread(std::size_t at, const Operand& count, const F& replace) {
    const Graph& graph = tracer_.graph();
    const NodeId producer = graph.values[placeholder_].producer;
    if (at + 1 == path_.size()) {
      tracer_.insert_at(path_[at], producer);
      const Operand next =
          tracer_.call(op::add, {{count, Operand(Literal{Literal::Type::integer, 1, 0})}}, {}, graph.nodes[producer].location);
      tracer_.end_insertion();
      replace(count);
      return next;
    }
    RegionId inner = path_[at + 1];
    const NodeId control = graph.regions[inner].owner;
    if (graph.nodes[control].kind == NodeKind::branch) {
      const bool then = graph.nodes[control].regions[0] == inner;
      const Operand next = thread(at + 1, count, replace);
      return tracer_.merge_more(control, then ? next : count, then ? count : next);
    }
    const bool in_body = at + 2 < path_.size() && graph.regions[path_[at + 2]].owner == control;  // of a while, behind its condition
    return tracer_.carry_more(
        control, [&] { return count; }, [&](const Operand& inside) { return thread(at + (in_body ? 2 : 1), inside, replace); });
  }

 private:
  Tracer& tracer_;
  ValueId placeholder_;
  std::vector<RegionId> path_;  ///< from the root to the region of the placeholder
};

}  // namespace

bool Tracer::placed() const {
  return !state_->places.empty();
}

Operand Tracer::count_entries(SourceLocation location) {
  State_& s = *state_;
  const ValueId placeholder = s.add_constant(Array::scalar<std::int32_t>(0), s.region, location);
  s.entries.push_back(placeholder);
  return placeholder;
}

void Tracer::add_entry_counts() {
  State_& s = *state_;
  std::size_t number = 0;
  for (const ValueId placeholder : s.entries) {
    std::string name;
    do {
      name = std::string(kName) + "." + std::to_string(++number);
    } while (s.leaf_names.contains(name) || s.output_names.contains(name));
    const NodeId producer = s.graph.values[placeholder].producer;
    const SourceLocation location = s.graph.nodes[producer].location;
    EntryCount count(*this, placeholder);
    insert_at(Graph::kRoot, count.first());
    const Operand begin = parameter(name, TensorType{DType::i32, {}}, {{"value", 0.0}, {"state", name}, {"hidden", true}}, location);
    end_insertion();
    const Operand end = count.thread(0, begin, [&](const Operand& here) {
      for (Node& node : s.graph.nodes) std::replace(node.inputs.begin(), node.inputs.end(), placeholder, here.value);
      std::erase(s.graph.regions[s.graph.nodes[producer].region].nodes, producer);
    });
    output(name, end, location);
  }
  s.out_of_order = s.out_of_order || !s.entries.empty();
}

}  // namespace cleave
