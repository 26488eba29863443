// RunStates: the states of one executor (graph/states.h) from run to run: where each has its value, and what a run takes and leaves. One on
// an accelerator stays in its memory. A run that fails leaves all of them as they were.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "executor/arguments/run_options.h"
#include "executor/run/prepared.h"
#include "graph/states.h"

namespace cleave::runtime {

class RunStates {
 public:
  /// The value of a state, from the accelerator.
  using Read = std::function<Result<Array>(ValueId)>;
  /// What the host has of a value when a run is over.
  using HostValue = std::function<Array(ValueId)>;

  explicit RunStates(const Program& program);
  [[nodiscard]] bool any() const { return !states_.empty(); }

  /// Before a run: what of them goes on. One that is given anew while its value lies on the accelerator alone is read first.
  Status begin(const RunOptions& options, const Read& read);
  /// Inputs and parameters that need no binding.
  [[nodiscard]] const std::set<NodeId>& going_on() const { return going_on_; }
  /// Of these, the ones that lie on the accelerator already.
  [[nodiscard]] const std::set<NodeId>& resident() const { return resident_; }
  /// Adds those of which the host has the value.
  void add_to(std::map<NodeId, Array>& leaves) const;

  /// After a run that went well, once the accelerator has taken over the new values.
  void take_over(const HostValue& host_value);
  /// After one that did not.
  void give_up();

  /// The value now; an Error (unknown) for another name, (usage) where no run has left it yet.
  [[nodiscard]] Result<Array> get(std::string_view name, const Read& read) const;
  /// The next run begins anew.
  void forget();

 private:
  struct State {
    GraphState state;
    std::string name;
    bool on_host = false, on_accelerator = false;
    bool shared = false;         ///< the host's array of the next value is somebody else's too
    bool live = false;           ///< has a value from a run
    bool there = false;          ///< on the accelerator
    std::optional<Array> array;  ///< on the host
  };
  std::vector<State> states_;
  std::set<NodeId> going_on_, resident_;
};

}  // namespace cleave::runtime
