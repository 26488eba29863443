// RunArrays: the arrays of one run on the host: arguments and constants, which are read in place, and outputs, which are computed in the
// arrays that the run returns where the plan allows it. Used by the host's thread only.
#pragma once

#include <map>
#include <set>

#include "executor/device/kernel.h"
#include "executor/run/driver/outputs.h"
#include "executor/run/driver/result_memory.h"
#include "executor/run/prepare/prepared.h"
#include "executor/run/transport/host_end.h"

namespace cleave::runtime {

class RunArrays {
 public:
  /// Outputs are handed in to `outputs` as the host reaches them.
  RunArrays(const Prepared& prepared, HostEnd& end, Outputs& outputs);

  /// Must be called before each run. `leaves` are the arrays of inputs and parameters. An Error if memory for results is short.
  Status begin(const RunOptions& options, std::map<NodeId, Array> leaves);
  /// Releases the caller's arrays.
  void end() {
    leaves_.clear();
    leaving_.clear();
  }
  /// The array of an output whose value the host has.
  [[nodiscard]] Array output(ValueId value) const;
  /// Reports the value to the listener if it is an output that it has not got yet. False: the listener failed, which is reported.
  bool hand_in(ValueId value, const Origin& here);
  /// Whether the value's memory is never written between runs, so that kernels may keep what they derive from it.
  [[nodiscard]] bool is_kept(ValueId value, const RunOptions& options) const;

 private:
  void use_in_place(NodeId node, const Array& array);
  Status take_leaving(const RunOptions& options);

  const Prepared& prepared_;
  const Graph& graph_;
  const MemoryPlan& plan_;
  HostEnd& end_;
  Outputs& outputs_;
  ResultMemory result_memory_;
  std::map<NodeId, Array> leaves_;
  std::map<StorageIndex, Array> leaving_;  ///< the arrays in which outputs are computed: the caller's or new ones
  std::set<NodeId> changes_;               ///< states that runs change
};

/// A copy of the tensor.
Array snapshot(const TensorView& view);

}  // namespace cleave::runtime
