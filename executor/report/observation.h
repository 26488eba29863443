// Observation: counts trips, branches, host times and copies of a run and averages them into a Profile.
#pragma once

#include <map>
#include <span>

#include "executor/report/timeline.h"
#include "executor/runtime.h"
#include "graph/graph.h"
#include "partitioner/machine/costs.h"

namespace cleave::runtime {

class Observation {
 public:
  /// One execution of a loop (its trips) or of a branch (1 if `then` was taken).
  void control(NodeId node, double outcome) { add(control_[node], outcome); }
  /// What others decided in the same run.
  void add_controls(const Observation& other);
  /// One execution of an operation on the host.
  void seconds(NodeId node, double seconds) { add(seconds_[node], seconds); }
  /// Copies between devices, of all that was noted of a run.
  void transfers(std::span<const TimelineEvent> events);
  /// Averages by source position; what has no position is left out.
  [[nodiscard]] Profile profile(const Graph& graph) const;

 private:
  struct Mean {
    double sum = 0;
    double count = 0;
  };
  static void add(Mean& mean, double value) {
    mean.sum += value;
    mean.count += 1;
  }
  static std::map<std::string, double> averages(const Graph& graph, const std::map<NodeId, Mean>& by_node);

  std::map<NodeId, Mean> control_, seconds_, transfers_;
};

}  // namespace cleave::runtime
