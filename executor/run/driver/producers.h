// Producers: the data of loops that worker threads make ahead (planner::Producer). Each trip is made in a slot of its own, by kernels of
// its own; the host's thread waits for a trip at the first of the producer's steps, copies each result to its planned storage at the step
// that would compute it, and gives the slot to a later trip. An error of a trip is reported when the host's thread reaches it, so that
// trips that the loop never makes have none.
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>
#include <vector>

#include "executor/run/clock/virtual_workers.h"
#include "executor/run/driver/calls.h"
#include "executor/run/driver/host_kernels.h"
#include "executor/run/prepare/prepare_producers.h"

namespace cleave::runtime {

class Producers {
 public:
  Producers(const Prepared& prepared, HostKernels& kernels, HostEnd& end, Calls& workers, VirtualWorkers& virtual_workers);
  Producers(const Producers&) = delete;
  Producers& operator=(const Producers&) = delete;
  ~Producers();

  /// Must be called before each run.
  void begin();
  /// Must be called after the walk, however it ended: waits until no trip is being made.
  void end();

  /// The values from outside the loop that its producer reads, which must be complete when the loop begins; null: the loop has none.
  [[nodiscard]] const std::vector<ValueId>* reads(NodeId loop) const;
  /// The workers begin the first of at most `count` trips.
  void begin_loop(NodeId loop, const Origin& here, std::int64_t count);
  /// Waits until no trip of the loop is being made. Trips that were not taken are dropped.
  void end_loop(NodeId loop);

  /// Whether the step of `node` takes data that are made ahead.
  [[nodiscard]] bool takes(NodeId node) const;
  /// Takes the step's results of this trip. False: an error, which is reported.
  bool take(const Origin& here, std::int64_t trip);

 private:
  struct Slot;
  struct Loop;
  struct Place {
    std::int32_t loop = -1;  ///< -1: the node belongs to no producer
    std::int32_t work = -1;  ///< -1: the node runs with a later one
  };
  void prepare(Loop& loop, const PreparedProducer& producer);
  void start(Loop& loop, std::int64_t trip);
  void make(Loop& loop, Slot& slot);
  Status run(Loop& loop, Slot& slot, std::size_t work, const Origin& here);
  bool await(Loop& loop, Slot& slot, const Origin& here);
  void record(const Loop& loop, const Slot& slot, std::size_t work);
  void stop(Loop& loop);

  const Prepared& prepared_;
  const Graph& graph_;
  HostKernels& kernels_;
  HostEnd& end_;
  Calls& workers_;
  VirtualWorkers& virtual_workers_;
  const std::vector<PreparedProducer> producers_;
  std::vector<std::unique_ptr<Loop>> loops_;
  IdVector<NodeId, Place> places_;
};

}  // namespace cleave::runtime
