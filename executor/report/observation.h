// Observation: counts trips, branches, host times and copies of a run and sums them up in a Profile.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "executor/report/timeline.h"
#include "executor/runtime.h"
#include "graph/graph.h"
#include "partitioner/machine/costs.h"

namespace cleave::runtime {

class Observation {
 public:
  /// One execution of a loop (its trips) or of a branch (1 if `then` was taken).
  void control(NodeId node, double outcome);
  /// What others decided in the same run.
  void add_controls(const Observation& other);
  /// One execution of an operation on the host. A preempted one is counted, and counts for its time only where there is no other.
  void seconds(NodeId node, double seconds, bool preempted = false) { add(seconds_[node], seconds, preempted); }
  /// Copies between devices, of all that was noted of a run.
  void transfers(std::span<const TimelineEvent> events);
  /// What was observed, by statement path; what has no position is left out.
  [[nodiscard]] Profile profile(const Graph& graph) const;

 private:
  struct Mean {
    double sum = 0;
    double count = 0;
  };
  /// The samples of one node. However many there are, at most kMostKept of them are kept: one in `stride`.
  struct Samples {
    std::vector<double> kept;
    std::int64_t stride = 1;
    std::int64_t count = 0, preempted = 0;
    double minimum = 0;            ///< of those that count
    double fastest_preempted = 0;  ///< of the others
  };
  static void add(Samples& samples, double seconds, bool preempted);
  static std::map<std::string, double> means(const Graph& graph, const std::map<NodeId, Mean>& by_node);
  static void summarize(const Graph& graph, const std::map<NodeId, Samples>& by_node, std::map<std::string, double>& seconds,
                        std::map<std::string, SampleSummary>& summaries);

  std::map<NodeId, Mean> control_;
  std::map<NodeId, Samples> seconds_, transfers_;
};

}  // namespace cleave::runtime
