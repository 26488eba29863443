// RunStates: keeps the states of one executor (graph/states.h) from run to run: where each value is, and what a run consumes and leaves. A
// state on an accelerator stays in its memory. A run that fails changes no state.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "executor/arguments/run_options.h"
#include "executor/runtime.h"
#include "graph/states.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

class RunStates {
 public:
  /// Reads the value of a state from the accelerator.
  using Read = std::function<Result<Array>(ValueId)>;
  /// Returns the host's copy of a value after a run.
  using HostValue = std::function<Array(ValueId)>;

  explicit RunStates(const Program& program);
  [[nodiscard]] bool any() const { return !states_.empty(); }

  /// Must be called before a run: decides which states continue. If a state is bound anew while its value is on the accelerator only, that
  /// value is read first.
  Status begin(const RunOptions& options, const Read& read);
  /// Inputs and parameters whose state continues, so that they need no binding.
  [[nodiscard]] const std::set<NodeId>& going_on() const { return going_on_; }
  /// Those of going_on() whose value is on the accelerator already.
  [[nodiscard]] const std::set<NodeId>& resident() const { return resident_; }
  /// Adds those of going_on() whose value is on the host.
  void add_to(std::map<NodeId, Array>& leaves) const;

  /// Must be called after a successful run, once the accelerator has taken over the new values.
  void take_over(const HostValue& host_value);
  /// Must be called after a failed run.
  void give_up();

  /// The current value; an Error (unknown) for another name, (usage) if no run has left a value yet.
  [[nodiscard]] Result<Array> get(std::string_view name, const Read& read) const;
  /// Discards all values, so that the next run begins anew.
  void forget();

 private:
  struct State {
    GraphState state;
    std::string name;
    bool on_host = false, on_accelerator = false;
    bool shared = false;         ///< the host's array of the next value has other owners too
    bool live = false;           ///< has a value from a run
    bool there = false;          ///< the value is on the accelerator
    std::optional<Array> array;  ///< the value on the host
  };
  std::vector<State> states_;
  std::set<NodeId> going_on_, resident_;
};

}  // namespace cleave::runtime
