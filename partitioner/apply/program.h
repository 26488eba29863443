// Program: the executable form of a plan, the counterpart of Graph. For each device it has a tree of step lists, with a Send and a Receive
// for each transferred value and a channel for each transfer. All devices walk the same tree of regions; a device without steps in a region
// skips it. The host decides loops and branches and sends its decisions to the others through control streams, unless an accelerator
// decides one that it alone walks. A value goes from one accelerator to another on a channel between them, or the host receives it and
// sends it on. A device has at most one copy of a value, so a ValueId names the value's storage there.
//
// There is one global sequential order of all steps: `order` increases within a block, and every receive of generation g precedes the send
// of generation g+1. With bounded channels this excludes deadlock. verify() checks it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/base/device_name.h"
#include "graph/base/id.h"
#include "graph/graph.h"
#include "graph/kernel/fusible_group.h"
#include "partitioner/machine/planner.h"

namespace cleave::planner {

using CoalescedId = Id<struct CoalescedTag>;
using BlockIndex = std::int32_t;
inline constexpr BlockIndex kNoBlock = -1;

enum class StepKind : std::uint8_t {
  compute,     ///< executes `node`, an operation, input, parameter, constant or counter, on this device's copies
  send,        ///< sends `value` on `channel`
  receive,     ///< receives `value` from `channel`
  for_loop,    ///< `node` is the control node; blocks[0] is the body
  while_loop,  ///< blocks[0] is the condition, blocks[1] the body
  branch,      ///< blocks[0] is the then arm, blocks[1] the else arm
};
std::string_view to_string(StepKind kind);

struct Step {
  StepKind kind = StepKind::compute;
  NodeId node;                                  ///< compute and control steps; for send and receive the producer of the value
  ValueId value;                                ///< send, receive
  ChannelId channel;                            ///< send, receive
  BlockIndex blocks[2] = {kNoBlock, kNoBlock};  ///< kNoBlock: this device has no step there
  std::vector<NodeId> carried;                  ///< loops: the carried nodes with a copy on this device
  std::vector<NodeId> merges;                   ///< branches: the merge nodes with a copy on this device
  bool drives_others = false;                   ///< host control steps: another device walks this step too and waits for the decision
  /// An accelerator's control step that it decides from its own copies; no other device walks it.
  bool by_itself = false;
  std::int64_t order = 0;  ///< position in the global sequential order
};

struct Block {
  RegionId region;
  std::vector<Step> steps;
};

/// The default number of values of a channel that may be in flight at once. channel_depths.h gives some channels more.
inline constexpr int kDefaultDepth = 2;
inline constexpr int kMostDepth = 64;  ///< largest planned depth

struct Channel {
  ValueId value;
  DeviceId from, to;
  RegionId region;             ///< the region whose executions perform the transfer
  std::size_t transfer = 0;    ///< index into Transfers
  CoalescedId coalesced = {};  ///< none: the value is transferred by itself
  std::int64_t offset = 0;     ///< of the value in the coalesced transfer, in bytes
  int depth = kDefaultDepth;   ///< values that may be in flight at once; the sender waits for a free slot before it sends another one
};

/// Whether a channel joins two accelerators directly.
inline bool between_accelerators(const Channel& channel) {
  return channel.from != kHost && channel.to != kHost;
}

/// Small values that are sent to one device from one point of a region as a coalesced transfer: one copy, one latency, one slot. The first
/// send stands for the whole coalesced transfer, and so does the first receive. The sends are adjacent, with nothing between them that the
/// sender could wait for; the receives are adjacent too, at the point where the first value is needed.
struct CoalescedTransfer {
  std::vector<ChannelId> channels;  ///< in the order of their sends, which is that of their receives
  std::int64_t bytes = 0;           ///< including the padding for alignment
};

struct DeviceProgram {
  DeviceId device;
  std::vector<Block> blocks;  ///< blocks[0] is the root
};

/// Host work of a loop's body that worker threads make ahead of the loop's other steps (producers.h). Its steps stay in the body; reaching
/// the first of them in a trip means waiting for the data of that trip.
struct Producer {
  NodeId loop;
  int ahead = 0;              ///< trips whose data may be under way or ready at once, beside those of the current trip
  std::vector<NodeId> nodes;  ///< operations of the body, in the order of their steps
};

/// The predicted times of the data that one producer makes.
struct ProducedData {
  NodeId loop;
  int workers = 1;
  double seconds = 0;          ///< a worker's time for the data of one trip
  double step_seconds = 0;     ///< elapsed time from one trip to the next, if the data took no time
  NodeId longest;              ///< the producer's longest operation
  double longest_seconds = 0;  ///< for one trip
  std::optional<int>
      hidden_by;  ///< the least number of workers, found by trying, with which the data are ready in time; none: nobody waits

  /// The time after which all workers together have made the data of one more trip.
  [[nodiscard]] double seconds_by_all() const { return seconds / workers; }
  /// Whether the loop waits for its data in every trip.
  [[nodiscard]] bool slow() const { return seconds_by_all() > kSlowProducer * step_seconds; }
  static constexpr double kSlowProducer = 1.05;
};

struct Program {
  std::shared_ptr<const Graph> graph;
  IdVector<DeviceId, DeviceProgram> devices;  ///< the host first, then the accelerators, possibly without steps
  IdVector<ChannelId, Channel> channels;
  IdVector<CoalescedId, CoalescedTransfer> coalesced_transfers;
  /// Threads that make data of loops ahead, and call host functions beside the host's steps (HostFunction::beside: from 2 on). 0: none.
  int workers = 1;
  std::vector<Producer> producers;
  FusibleGroups kernels;  ///< the groups planned as fused kernels, whose steps are adjacent; empty: none
  // Outputs are read from the host's copies.
};

/// All channels of the coalesced transfer that `channel` belongs to, in order; if there is none, `channel` alone.
std::span<const ChannelId> travelling_with(const Program& program, const ChannelId& channel);
/// Bytes of one slot of the channel: those of its value, or of its whole coalesced transfer.
std::int64_t slot_bytes(const Program& program, ChannelId channel);
/// Sets the depth of the channel and of all others in its coalesced transfer.
void set_depth(Program& program, ChannelId channel, int depth);
/// Whether the channel belongs to a coalesced transfer and is not the first in it.
bool follows(const Program& program, ChannelId channel);

/// How the host executes a node with regard to later steps: `never` overlapped, unless the node calls a host function. A call that
/// overlaps later steps ends before the first step that reads its results, before the next effect, and before its block ends.
HostFunction::Beside beside(const Program& program, NodeId node);
inline bool runs_beside(const Program& program, NodeId node) {
  return beside(program, node) != HostFunction::Beside::never;
}
/// Whether any call of the graph overlaps other steps, with this number of workers.
bool calls_run_beside(const Graph& graph, int workers);

/// Checks a program and returns the rules it breaks: values read before they exist, unmatched sends, wrong order, wrong blocks. Empty if it
/// is valid.
std::vector<std::string> verify(const Program& program);
/// A text form for people and golden files.
std::string print(const Program& program);

}  // namespace cleave::planner
