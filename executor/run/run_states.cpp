#include "executor/run/run_states.h"

#include <algorithm>
#include <cstring>

#include "graph/base/spelling.h"

namespace cleave::runtime {
namespace {

bool lies_on(const DeviceProgram& device, NodeId leaf) {
  if (device.blocks.empty()) return false;
  const std::vector<Step>& steps = device.blocks[0].steps;
  return std::any_of(steps.begin(), steps.end(), [&](const Step& step) { return step.kind == StepKind::compute && step.node == leaf; });
}

Array copy_of(const Array& array) {
  Array copy(array.type());
  if (array.type().bytes() > 0) std::memcpy(copy.mutable_bytes(), array.bytes(), static_cast<std::size_t>(array.type().bytes()));
  return copy;
}

}  // namespace

RunStates::RunStates(const Program& program) {
  const Graph& graph = *program.graph;
  for (const GraphState& each : states_of(graph)) {
    State state{
        each, graph.values[each.value].name, lies_on(program.devices[kHost], each.leaf), false, !each.follows || each.fixed(), false, false,
        {}};
    for (std::size_t d = 1; d < program.devices.size(); ++d) state.on_accelerator |= lies_on(program.devices[DeviceId(d)], each.leaf);
    for (std::size_t o = 0; o < graph.outputs.size(); ++o) state.shared |= o != each.output && graph.outputs[o].value == each.next;
    states_.push_back(std::move(state));
  }
}

Status RunStates::begin(const RunOptions& options, const Read& read) {
  going_on_.clear();
  resident_.clear();
  for (State& state : states_) {
    if (!state.live) continue;
    if (!options.inputs.contains(state.name)) {
      going_on_.insert(state.state.leaf);
      if (state.there) resident_.insert(state.state.leaf);
    } else if (!state.array) {
      Result<Array> value = read(state.state.value);
      if (!value) return value.error();
      state.array = *std::move(value);
    }
  }
  return {};
}

void RunStates::add_to(std::map<NodeId, Array>& leaves) const {
  for (const State& state : states_)
    if (state.array && going_on_.contains(state.state.leaf)) leaves.emplace(state.state.leaf, *state.array);
}

void RunStates::take_over(const HostValue& host_value) {
  for (State& state : states_) {
    if (const bool same = state.state.fixed() && going_on_.contains(state.state.leaf); !same) {
      state.array.reset();
      if (state.on_host) state.array = state.shared ? copy_of(host_value(state.state.next)) : host_value(state.state.next);
    }
    state.there = state.on_accelerator;
    state.live = true;
  }
}

void RunStates::give_up() {
  for (State& state : states_) state.there = state.there && resident_.contains(state.state.leaf);
}

Result<Array> RunStates::get(std::string_view name, const Read& read) const {
  std::vector<std::string> names;
  for (const State& state : states_) {
    names.push_back(state.name);
    if (state.name != name) continue;
    if (!state.live) return Error{"the state `" + state.name + "` has no value before the first run", {}, ErrorKind::usage};
    if (!state.array) return read(state.state.value);
    return copy_of(*state.array);
  }
  return Error{"the program has no state `" + std::string(name) + "`" + did_you_mean_or_has(name, names), {}, ErrorKind::unknown};
}

void RunStates::forget() {
  for (State& state : states_) {
    state.live = state.there = false;
    state.array.reset();
  }
}

}  // namespace cleave::runtime
