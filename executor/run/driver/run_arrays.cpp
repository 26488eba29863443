#include "executor/run/driver/run_arrays.h"

#include <cstring>
#include <utility>

#include "graph/states.h"

namespace cleave::runtime {

RunArrays::RunArrays(const Prepared& prepared, HostEnd& end, Outputs& outputs)
    : prepared_(prepared), graph_(prepared.graph()), plan_(prepared.plans[kHost]), end_(end), outputs_(outputs) {
  for (const GraphState& state : states_of(graph_))
    if (!state.fixed()) changes_.insert(state.leaf);
}

Status RunArrays::begin(const RunOptions& options, std::map<NodeId, Array> leaves) {
  leaves_ = std::move(leaves);
  for (const auto& [node, array] : leaves_) use_in_place(node, array);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[NodeId(i)];
    if (node.kind == NodeKind::constant) use_in_place(NodeId(i), node.attributes.get<Array>("value"));
  }
  return take_leaving(options);
}

/// No kernel writes its inputs: casting `const` away is safe.
void RunArrays::use_in_place(NodeId node, const Array& array) {
  const StorageIndex storage = plan_.storage_of[graph_.nodes[node].results[0]];
  if (storage != kNoStorage && plan_.storages[static_cast<std::size_t>(storage)].external)
    end_.storage.set(storage, const_cast<std::byte*>(array.bytes()));
}

/// Prepares outputs to be computed in the arrays that the run returns.
Status RunArrays::take_leaving(const RunOptions& options) {
  for (const Output& output : graph_.outputs) {
    const StorageIndex storage = plan_.storage_of[output.value];
    if (storage == kNoStorage || !plan_.storages[static_cast<std::size_t>(storage)].leaves || leaving_.contains(storage)) continue;
    const auto given = options.results.find(output.name);
    Result<Array> array =
        given != options.results.end() ? Result<Array>(given->second) : result_memory_.take(graph_.values[output.value].type);
    if (!array) return at_node(graph_, graph_.values[output.value].producer, array.error());
    end_.storage.set(storage, writable(*array));
    leaving_.emplace(storage, *std::move(array));
  }
  return {};
}

Array RunArrays::output(ValueId value) const {
  const Node& producer = graph_.producer(value);
  if (auto leaf = leaves_.find(graph_.values[value].producer); leaf != leaves_.end()) return leaf->second;
  if (producer.kind == NodeKind::constant) return producer.attributes.get<Array>("value");
  if (end_.in_caller_memory.contains(value)) return *prepared_.caller_memory.target(value);
  const auto leaving = leaving_.find(plan_.storage_of[value]);
  if (leaving != leaving_.end() && leaving->second.type() == graph_.values[value].type) return leaving->second;
  return snapshot({&graph_.values[value].type, end_.storage.of(value)});
}

bool RunArrays::hand_in(ValueId value, const Origin& here) {
  const Status told = outputs_.hand_in(value, [&] { return output(value); });
  return told.ok() || end_.fail(here, told.error());
}

bool RunArrays::is_kept(ValueId value, const RunOptions& options) const {
  const NodeId producer = graph_.values[value].producer;
  const Node& node = graph_.nodes[producer];
  if (node.kind == NodeKind::constant) return true;
  if (node.kind != NodeKind::parameter || changes_.contains(producer) || options.inputs.contains(graph_.values[value].name)) return false;
  const auto leaf = leaves_.find(producer);
  return leaf != leaves_.end() && !leaf->second.borrowed();
}

Array snapshot(const TensorView& view) {
  Array copy(*view.type);
  if (view.type->bytes() > 0) std::memcpy(copy.mutable_bytes(), view.data, static_cast<std::size_t>(view.type->bytes()));
  return copy;
}

}  // namespace cleave::runtime
