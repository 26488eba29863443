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
  /// Adds the decisions that another side observed in the same run.
  void add_controls(const Observation& other);
  /// Records one execution of an operation on the host. The time of a preempted execution is used only if there is no other.
  void seconds(NodeId node, double seconds, bool preempted = false) { add(seconds_[node], seconds, preempted); }
  /// Records the copies between devices among the events of a run.
  void transfers(std::span<const TimelineEvent> events);
  /// The observations by statement path; nodes without a source position are left out.
  [[nodiscard]] Profile profile(const Graph& graph) const;

 private:
  struct Mean {
    double sum = 0;
    double count = 0;
  };
  /// The samples of one node. At most kMostKept of them are kept, whatever their number: one in `stride`.
  struct Samples {
    std::vector<double> kept;
    std::int64_t stride = 1;
    std::int64_t count = 0, preempted = 0;
    double minimum = 0;            ///< of the samples that were not preempted
    double fastest_preempted = 0;  ///< of the preempted samples
  };
  static void add(Samples& samples, double seconds, bool preempted);
  static std::map<std::string, double> means(const Graph& graph, const std::map<NodeId, Mean>& by_node);
  static void summarize(const Graph& graph, const std::map<NodeId, Samples>& by_node, std::map<std::string, double>& seconds,
                        std::map<std::string, SampleSummary>& summaries);

  std::map<NodeId, Mean> control_;
  std::map<NodeId, Samples> seconds_, transfers_;
};

}  // namespace cleave::runtime
