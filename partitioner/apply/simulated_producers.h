// SimulatedProducers: the work of a simulated run that is made ahead (Program::producers). The data of a trip are made by the worker that
// is free first, as soon as those of the trip `ahead` trips before were taken. The host waits for them at the first of their steps.
#pragma once

#include <optional>
#include <vector>

#include "partitioner/apply/program.h"
#include "partitioner/apply/schedule.h"
#include "partitioner/apply/simulated_clocks.h"

namespace cleave::planner {

class SimulatedProducers {
 public:
  /// All arguments must outlive this object. `workers`: the time from which each worker is free.
  SimulatedProducers(const Program& program, const StepTimes& times, SimulatedClocks& clocks, std::vector<Moment>& workers);

  /// The host enters a loop of this many expected trips, and the workers begin its data.
  void enter(NodeId loop, double trips);
  /// Whether the host's step of `node` only takes what a worker made.
  [[nodiscard]] bool takes(NodeId node) const { return producer_of_[node] >= 0; }
  void take(NodeId node);

  /// The number of iterations after which the pace of a loop repeats: workers take turns at them. 1 without a producer.
  [[nodiscard]] int period(NodeId loop) const;
  /// The workers' seconds for the data of one trip, or nothing if the loop has no producer.
  [[nodiscard]] std::optional<double> trip_seconds(NodeId loop) const;

 private:
  struct Ahead {
    const Producer* producer = nullptr;
    double seconds = 0;         ///< for one trip
    std::vector<Moment> ready;  ///< by trip, modulo the number of trips ahead
    std::size_t next = 0;       ///< the trip that the host takes next
    double trips = 0;           ///< expected trips of this execution of the loop
  };
  void begin(Ahead& loop, std::size_t trip);

  const StepTimes& times_;
  SimulatedClocks& clocks_;
  std::vector<Moment>& workers_;
  std::vector<Ahead> loops_;
  IdVector<NodeId, std::int32_t> producer_of_;  ///< by node: index into `loops_`; -1: none
};

}  // namespace cleave::planner
