#include "executor/arguments/caller_memory.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "graph/base/diagnostic.h"
#include "graph/base/spelling.h"
#include "graph/states.h"

namespace cleave::runtime {
namespace {

bool overlap(const Array& a, const Array& b) {
  const std::less<const std::byte*> before;
  return before(a.bytes(), b.bytes() + b.type().bytes()) && before(b.bytes(), a.bytes() + a.type().bytes());
}

const Output* find_output(const Graph& graph, const std::string& name) {
  const std::vector<bool> state = state_outputs(graph);  // these outputs belong to the next run only
  for (std::size_t i = 0; i < state.size(); ++i)
    if (!state[i] && graph.outputs[i].name == name) return &graph.outputs[i];
  return nullptr;
}

Error no_output(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  const std::vector<bool> state = state_outputs(graph);
  for (std::size_t i = 0; i < state.size(); ++i)
    if (!state[i]) names.push_back(graph.outputs[i].name);
  return {"the program has no output `" + name + "`" + did_you_mean_or_has(name, names), {}, ErrorKind::unknown};
}

/// Whether devices copy from and to this array directly.
bool reached(const Array& array, bool simulated) {
  return array.page_lock() == PageLock::accelerator || (simulated && array.page_locked());
}

}  // namespace

Status check_results(const Graph& graph, const RunOptions& options, const std::map<NodeId, Array>& leaves) {
  for (const auto& [name, array] : options.results) {
    const Output* output = find_output(graph, name);
    if (!output) return no_output(graph, name);
    const std::string what = "the array for the output `" + name + "` ";
    const TensorType& type = graph.values[output->value].type;
    if (array.type() != type) return Error{what + "is " + to_string(array.type()) + ", not " + to_string(type), {}, ErrorKind::usage};
    if (array.borrowed()) return Error{what + "is borrowed and cannot be written", {}, ErrorKind::usage};
    for (const auto& [leaf, argument] : leaves) {
      if (!overlap(array, argument)) continue;
      return Error{what + "shares its memory with the argument `" + graph.display_name(leaf) + "`", {}, ErrorKind::usage};
    }
    for (const auto& [other, second] : options.results) {
      if (other < name && overlap(array, second))
        return Error{what + "shares its memory with that for `" + other + "`", {}, ErrorKind::usage};
    }
  }
  return {};
}

Array deliver(const RunOptions& options, const std::string& name, const Array& array) {
  const auto given = options.results.find(name);
  if (given == options.results.end()) return array;
  const auto bytes = static_cast<std::size_t>(array.type().bytes());
  if (bytes > 0 && given->second.bytes() != array.bytes()) std::memcpy(writable(given->second), array.bytes(), bytes);
  return given->second;
}

void CallerMemory::begin(const Graph& graph, const RunOptions& options, const std::map<NodeId, Array>& leaves, bool simulated) {
  end();
  for (const auto& [leaf, array] : leaves)
    if (reached(array, simulated)) sources_.emplace(graph.nodes[leaf].results[0], array);
  for (const auto& [name, array] : options.results)
    if (reached(array, simulated)) targets_.emplace(find_output(graph, name)->value, array);
}

}  // namespace cleave::runtime
