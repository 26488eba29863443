// DeviceCommands: the commands of one device, prepared: kernels, segments, loops and branches that run as one command, operations that are
// launched by rows. Decided once; knows no run.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "executor/device/controls.h"
#include "executor/run/clock/measured_track.h"
#include "executor/run/commands/work.h"
#include "executor/run/transport/chunks_to_device.h"

namespace cleave::runtime {

/// A launch of several operations as one command.
struct LaunchedSegment {
  SegmentId id;
  Work work;
  MeasuredTrack::Nodes nodes;
};
/// A loop or branch that the device runs by itself.
struct LaunchedControl {
  ControlId id;
  Work work;
  MeasuredTrack::Nodes nodes;
};
/// The role of an operation in a prepared segment.
struct SegmentMember {
  std::int32_t segment = -1;  ///< index into DeviceCommands::segments; none: the operation is launched by itself
  bool first = false;         ///< its step launches the whole segment
};
/// The launches of one operation that is launched by rows.
struct RowLaunches {
  std::vector<KernelId> kernels;
  Work beside;  ///< the memory that the launches access apart from the incoming values
};
/// An operation that is launched for ranges of rows, each as soon as the chunks that it reads have arrived.
struct RowOperation {
  std::vector<const ChunksToDevice*> coming;
  std::vector<double> shares;  ///< the fraction of the operation in each launch
};

struct DeviceCommands {
  /// The commands of one turn of rotating buffers, by node: all commands in the first turn, in the others only those inside such a loop.
  struct Turn {
    IdVector<NodeId, KernelId> kernels;  ///< invalid: the node runs with a later one, or has nothing to do
    IdVector<NodeId, Work> work;
    IdVector<NodeId, SegmentMember> members;
    std::map<NodeId, RowLaunches> rows;
  };
  std::vector<Turn> turns;
  std::vector<LaunchedSegment> segments;
  std::map<NodeId, RowOperation> by_rows;
  std::map<NodeId, LaunchedControl> controls;         ///< by control node; only the outermost ones
  std::set<std::size_t> controlled_blocks;            ///< blocks inside of these
  std::set<const std::vector<Move>*> prepared_moves;  ///< moves that are part of a segment
  IdVector<NodeId, std::int64_t> orders;              ///< of compute steps
  std::vector<NodeId> leaves;                         ///< inputs and parameters with a copy on this device
  std::vector<Move> states;                           ///< from each next value to its state, for states on this device
  std::set<NodeId> alone;                             ///< control nodes that the device decides

  [[nodiscard]] Turn& turn(std::int32_t number) { return turns[static_cast<std::size_t>(number)]; }
  [[nodiscard]] const Turn& turn(std::int32_t number) const { return turns[static_cast<std::size_t>(number)]; }
};

}  // namespace cleave::runtime
