// LatencyGraph: a DeviceProblem for the time of one run, by the rule of the public latency workloads (Tarnawski et al. 2020). The work of
// an accelerator is a sequence of pieces. A piece waits for all of its inputs, then copies them from the host's memory, computes, and
// copies its results back; operations on the host have free cores. LatencyEvaluator computes the time of an assignment.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/devices/device_classes.h"
#include "partitioner/solver/region_tree.h"

namespace cleave::planner {

struct LatencyGraph {
  struct Value {
    std::int32_t producer = 0;            ///< a node
    std::vector<std::int32_t> consumers;  ///< other nodes, ascending
    std::vector<double> in, out;          ///< per device: seconds a run of a transfer to it, and from it; 0 for the host
  };
  std::size_t devices = 0;
  std::vector<std::vector<double>> work;  ///< per device and node, in seconds a run; infinite where it may not be
  std::vector<Value> values;
  std::vector<std::vector<std::int32_t>> produced, consumed;  ///< per node: values
  std::vector<std::int32_t> order;                            ///< the nodes, each after the producers of its operands
  std::vector<std::int32_t> class_of;                         ///< per node
  std::vector<std::vector<std::int32_t>> nodes;               ///< per class, in the order of `order`
  std::vector<double> bytes;                                  ///< per class
  std::vector<double> room;                                   ///< per device: bytes; infinite for the host

  [[nodiscard]] std::size_t classes() const { return nodes.size(); }
  /// The least work of a node on any device.
  [[nodiscard]] double least_work(std::int32_t node) const;
};

/// An Error if nodes wait for each other in a circle, as those of a loop do.
Result<LatencyGraph> latency_graph(const DeviceProblem& problem, const DeviceClasses& classes, const UsesByValue& uses);

class LatencyEvaluator {
 public:
  explicit LatencyEvaluator(const LatencyGraph& graph);
  /// Seconds of one run with class c on device_of[c]. A path that leaves an accelerator and comes back begins a new piece there, and the
  /// pieces of an accelerator follow each other. Infinite if two pieces wait for each other, or a class may not be on its device. The
  /// memory is not looked at.
  double seconds(const std::vector<std::int32_t>& device_of);
  /// Visited nodes and uses of all evaluations so far.
  [[nodiscard]] double visited() const { return visited_; }

 private:
  void find_pieces(const std::vector<std::int32_t>& device_of);
  bool price_pieces();
  double finish();

  const LatencyGraph& graph_;
  std::size_t uses_ = 0;
  std::vector<std::int32_t> level_, unit_of_;       ///< per node; a unit is a piece or a node on the host
  std::vector<std::int32_t> device_, next_;         ///< per unit: its device, and the following piece of an accelerator or -1
  std::vector<double> start_, seconds_;             ///< per unit
  std::vector<std::int32_t> waits_, seen_, first_;  ///< per unit: open operands, the last value that it read, its first member
  std::vector<std::int32_t> members_, ready_;       ///< nodes by unit; units
  double visited_ = 0;
};

/// A lower bound on the seconds of one run of any assignment: the longest path with each node's least work; then, for a time L, the nodes
/// that would exceed L on the host are on accelerators, whose work in sum is at most L an accelerator, and whose memory holds them.
double latency_bound(const LatencyGraph& graph);

}  // namespace cleave::planner
