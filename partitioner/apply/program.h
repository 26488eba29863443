// Program, the second waist: who does what. One tree of step lists a device, with Send and Receive at the cut and a channel a transfer.
// All devices walk the same regions; a device without steps in a region does not enter it. Loops and branches are decided on the host,
// which tells the others through control streams; or by an accelerator that walks them alone. Every device keeps at most one copy of a
// value, so a ValueId names its storage there.
//
// One global sequential order underlies all step lists: `order` grows within a block, and every receive of generation g stands before the
// send of g+1. That, and bounded channels, exclude deadlock; verify() checks it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/base/device_name.h"
#include "graph/base/id.h"
#include "graph/graph.h"
#include "partitioner/machine/fusion.h"

namespace cleave::planner {

using PacketId = Id<struct PacketTag>;
using BlockIndex = std::int32_t;
inline constexpr BlockIndex kNoBlock = -1;

enum class StepKind : std::uint8_t {
  compute,     ///< `node`: an operation, input, parameter, constant, or counter of the graph, on this device's copies
  send,        ///< puts `value` on `channel`
  receive,     ///< takes `value` from `channel`
  for_loop,    ///< `node` is the control node; blocks[0] is the body
  while_loop,  ///< blocks[0] is the condition, blocks[1] the body
  branch,      ///< blocks[0] is then, blocks[1] otherwise
};
std::string_view to_string(StepKind kind);

struct Step {
  StepKind kind = StepKind::compute;
  NodeId node;                                  ///< compute and control steps; for send and receive the producer of the value
  ValueId value;                                ///< send, receive
  ChannelId channel;                            ///< send, receive
  BlockIndex blocks[2] = {kNoBlock, kNoBlock};  ///< kNoBlock: this device has nothing to do there
  std::vector<NodeId> carried;                  ///< loops: carried nodes that have a copy on this device
  std::vector<NodeId> merges;                   ///< branches: merge nodes that have a copy on this device
  bool drives_others = false;                   ///< host control steps: some other device walks this step too and waits for the decision
  bool by_itself = false;                       ///< an accelerator's control steps: it decides, by its own copies, and nobody else walks it
  std::int64_t order = 0;                       ///< position in the global sequential order
};

struct Block {
  RegionId region;
  std::vector<Step> steps;
};

/// Values of a channel that may be under way at once, where nobody asks for more (channel_depths.h).
inline constexpr int kDefaultDepth = 2;

struct Channel {
  ValueId value;
  DeviceId from, to;
  RegionId region;            ///< where the transfer stands
  std::size_t transfer = 0;   ///< index into Transfers
  PacketId packet = {};       ///< none: its value travels alone
  std::int64_t offset = 0;    ///< in the packet
  int depth = kDefaultDepth;  ///< values that may be under way at once: the sender waits for room before it sends one more
};

/// Small values that leave for one device at one point of a region, and travel as one: one copy, one latency, one slot. What is sent and
/// received first of it goes for all. Their sends stand side by side, with nothing between them that the sender could have to wait for,
/// and so do their receives, where the first of them is needed.
struct Packet {
  std::vector<ChannelId> channels;  ///< in the order of their sends, and of their receives
  std::int64_t bytes = 0;           ///< with what aligns the values
};

struct DeviceProgram {
  DeviceId device;
  std::vector<Block> blocks;  ///< blocks[0] is the root
};

struct Program {
  std::shared_ptr<const Graph> graph;
  IdVector<DeviceId, DeviceProgram> devices;  ///< host first; always two today, the second possibly without steps
  IdVector<ChannelId, Channel> channels;
  IdVector<PacketId, Packet> packets;
  int workers = 1;        ///< threads that call host functions beside the host's steps (HostFunction::beside); 1: none
  FusibleGroups kernels;  ///< what was counted on to run as one; the steps of each stand side by side. Empty: nothing
  // Outputs are read from the host's copies.
};

/// All that travels with the value of `channel`, itself among them, in order.
std::span<const ChannelId> travelling_with(const Program& program, const ChannelId& channel);
/// Bytes of one value under way, with all that travels with it.
std::int64_t slot_bytes(const Program& program, ChannelId channel);
/// Gives the channel and all that travels with it room for so many values.
void set_depth(Program& program, ChannelId channel, int depth);
/// Whether a packet is meant that the value of `channel` is not the first of.
bool follows(const Program& program, ChannelId channel);

/// How a node goes together with the host's steps behind it: `never`, unless it calls a host function. A call that runs beside them ends
/// before the first step that reads what it gives, before the next effect, and with its block.
HostFunction::Beside beside(const Program& program, NodeId node);
inline bool runs_beside(const Program& program, NodeId node) {
  return beside(program, node) != HostFunction::Beside::never;
}
/// Whether any call of the graph does, with so many workers.
bool calls_run_beside(const Graph& graph, int workers);

/// Rules that the program breaks: values read before they are there, unmatched sends, order, blocks. Empty if none.
std::vector<std::string> verify(const Program& program);
/// For people and golden files.
std::string print(const Program& program);

}  // namespace cleave::planner
