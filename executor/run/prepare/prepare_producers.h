// The producers of a program (planner::Producer), prepared: the kernels that make the data of one trip, and the layout of the slot in which
// they compute. A slot belongs to one trip at a time, so that trips can be made at once. Decided once; knows no run and no address.
#pragma once

#include <vector>

#include "executor/run/prepare/host_operations.h"
#include "executor/run/prepare/prepared.h"

namespace cleave::runtime {

struct PreparedProducer {
  static constexpr std::int64_t kOutside = -1;  ///< the offset of a value that exists before the loop
  struct Operand {
    ValueId value;
    std::int64_t offset = kOutside;  ///< in the slot
    bool leaves = false;             ///< a result that other steps than the producer's read
  };
  /// One operation, or the operations of one fused kernel.
  struct Work {
    NodeId node;             ///< the last operation
    std::int64_t order = 0;  ///< of its step
    std::vector<Operand> inputs, results;
  };
  const Producer* producer = nullptr;
  std::vector<Work> works;      ///< in the order of their steps
  std::vector<ValueId> reads;   ///< values that exist before the loop
  std::int64_t slot_bytes = 0;  ///< a slot begins with the trip's number
  double virtual_seconds = 0;   ///< for the data of one trip
};

/// None if the process may not use the memory of their slots; the loops' steps then do all work.
std::vector<PreparedProducer> prepare_producers(const Prepared& prepared, const HostOperations& operations);

/// The timeline's lanes of work that is made ahead; those of calls beside the host's steps come behind them.
int lanes_of_producers(const Program& program);

}  // namespace cleave::runtime
