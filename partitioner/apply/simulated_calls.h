// SimulatedCalls: the host calls of a simulated run that overlap other steps. Calls that workers make take the worker that is free first.
// Readers of a call's results, effects and the end of the call's block wait for its end.
#pragma once

#include <vector>

#include "partitioner/apply/program.h"
#include "partitioner/apply/simulated_clocks.h"

namespace cleave::planner {

class SimulatedCalls {
 public:
  /// All arguments must outlive this object. `workers`: the time from which each worker is free.
  SimulatedCalls(const Program& program, SimulatedClocks& clocks, std::vector<Moment>& workers);

  void begin(NodeId node, double seconds);
  /// Waits for the call, if any is under way, that computes `value`.
  void settle(ValueId value);
  /// Waits for calls that must end before the host executes `node`, decides the loop or branch `node`, or leaves `region`.
  void settle_node(NodeId node);
  void settle_decision(NodeId node);
  void settle_region(RegionId region);

 private:
  /// A call that began and whose end was not waited for.
  struct Call {
    NodeId node;
    Moment end;
  };
  template <class Condition>
  void end_calls_if(const Condition& concerned);

  const Program& program_;
  const Graph& graph_;
  SimulatedClocks& clocks_;
  std::vector<Moment>& workers_;
  std::vector<Call> calls_;  ///< in program order
};

}  // namespace cleave::planner
