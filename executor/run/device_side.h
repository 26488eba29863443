// DeviceSide: the driver of one accelerator, on a thread of its own: at each step of the device's program it enqueues commands, and it
// waits only for the host's values and decisions. Dependences between commands on the device are expressed by events (hazards.h); the
// virtual clock follows the same waits.
#pragma once

#include <array>
#include <map>
#include <set>
#include <span>

#include "executor/device/coalesced_copies.h"
#include "executor/device/controls.h"
#include "executor/memory/segments.h"
#include "executor/report/observation.h"
#include "executor/run/hazards.h"
#include "executor/run/measured_track.h"
#include "executor/run/prepared.h"
#include "executor/run/walk.h"
#include "graph/kernel/row_cut.h"

namespace cleave::runtime {

class DeviceSide final : public Worker {
 public:
  /// Allocates the device's arena, prepares its kernels and uploads its constants.
  static Result<std::unique_ptr<DeviceSide>> create(Prepared& prepared, DeviceId id);

  /// Must be called before each run. `leaves` has the arrays of inputs and parameters that have a copy on this device. The values of
  /// `resident` nodes have stayed on the device since the previous run.
  Status begin(RunState& run, const RunOptions& options, const std::map<NodeId, Array>& leaves, const std::set<NodeId>& resident);
  /// Ends a run that has begun but is not driven.
  void end() { device_.end_run(); }
  /// On the driver thread: runs the whole program and waits until the device is idle. If the device holds states, the run goes on until
  /// finish(). `start` is the timeline's zero.
  void drive(RunState::Clock::time_point start);
  [[nodiscard]] bool keeps_states() const { return !states_.empty(); }
  /// On the driver thread: copies the next values of the states to their storages, unless the run failed.
  Status finish(bool went_well);
  /// On the driver thread, between runs: reads a value that stays on the device from run to run.
  Result<Array> read(ValueId value);

  [[nodiscard]] const TransferCount& received() const { return received_; }
  [[nodiscard]] const TransferCount& sent() const { return sent_; }
  /// The virtual time at which the last stream ends.
  [[nodiscard]] double now() const;
  [[nodiscard]] Track& track() { return track_; }
  /// The observed outcomes of loops and branches that the device decided.
  [[nodiscard]] const Observation& observation() const { return observation_; }

  bool compute(const Step& step, const Origin& here, std::int64_t trip) override;
  bool send(const Step& step, const Origin& here) override;
  bool receive(const Step& step, const Origin& here) override;
  bool move(const std::vector<Move>& moves, const Origin& here) override;
  void rotate(const DoubleBuffers& double_buffers, std::int64_t trips) override;
  bool settle(const DoubleBuffers& double_buffers, const Origin& here) override;
  bool discard(const std::vector<StorageIndex>& dead, const Origin& here) override;
  std::optional<std::int64_t> decide(const Step& step, ValueId value, const Origin& here) override;
  [[nodiscard]] bool runs_whole(const Step& step) const override;
  bool run_whole(const Step& step, const Origin& here) override;
  void enter(NodeId control) override;
  void outcome(NodeId control, std::int64_t value) override;
  bool leave(const Step&, const Origin&) override { return true; }

 private:
  /// The memory that one command accesses, and its cost.
  struct Work {
    std::vector<StorageIndex> reads, writes;
    double seconds = 0;
    bool awaited = false;  ///< a later trip's copy waits for this command
  };
  /// A view of Work.
  struct WorkView {
    std::span<const StorageIndex> reads, writes;
    double seconds = 0;
    bool awaited = false;
    WorkView(std::span<const StorageIndex> read, std::span<const StorageIndex> written, double takes)
        : reads(read), writes(written), seconds(takes) {}
    WorkView(const Work& work)  // NOLINT(google-explicit-constructor)
        : reads(work.reads), writes(work.writes), seconds(work.seconds), awaited(work.awaited) {}
  };
  /// A coalesced transfer: its storages on this device and its copy command.
  struct Travelling {
    std::vector<StorageIndex> storages;
    std::vector<Piece> ranges;  ///< of the storages
    PiecesId pieces;            ///< invalid: each storage is copied by itself
    double seconds = 0;
  };
  /// An operation that is launched for ranges of rows, each as soon as the chunks that it reads have arrived.
  struct InParts {
    std::vector<ChannelId> coming;
    std::vector<double> shares;  ///< the fraction of the operation in each launch
  };
  /// The launches of one such operation.
  struct Rows {
    std::vector<KernelId> kernels;
    Work beside;  ///< the memory that the launches access apart from the incoming values
  };
  /// The arrivals that the launches of one operation wait for, one a launch.
  struct Arrivals {
    std::vector<std::size_t>
        parts;  ///< chunks that must have arrived before the launch; empty: no operation reads the value while it arrives
    std::vector<Event> there;
    std::vector<double> times;  ///< virtual
  };
  DeviceSide(Prepared& prepared, DeviceId id);
  static Hazards watch_transfers(const Prepared& prepared, DeviceId id);
  [[nodiscard]] std::vector<Range> kept_ranges() const;
  Status prepare_steps();
  Status prepare_travelling();
  void find_awaited();
  void announce_kernels();
  [[nodiscard]] Work work_of(NodeId id, const DoubleBuffers* double_buffers, std::int32_t turn) const;
  Status prepare_kernel(NodeId id, const DoubleBuffers* double_buffers);
  Status prepare_kernel(NodeId id, const DoubleBuffers* double_buffers, std::int32_t turn);
  [[nodiscard]] KernelRequest request_of(NodeId id, const Work& work) const;
  Status prepare_overlaps();
  Status prepare_overlap(NodeId id, const RowCut& cut, const std::vector<ChannelId>& coming, const DoubleBuffers* double_buffers);
  Result<Rows> prepare_rows(NodeId id, const RowCut& cut, const std::vector<std::int64_t>& ends, const std::vector<ChannelId>& coming,
                            const DoubleBuffers* double_buffers, std::int32_t turn);
  Status prepare_travelling(ChannelId id, const DoubleBuffers* double_buffers, std::int32_t turn);
  void prepare_controls();
  void prepare_control(const Step& step, std::size_t block, std::size_t index);
  void note_values(const Step& step, Work& work) const;
  void prepare_segments();
  void prepare_segment(const Segment& segment, std::vector<NodeId> nodes);
  Status upload(NodeId leaf, const Array& array);
  Status make_room_to_fetch();

  /// The role of an operation in a prepared segment.
  struct Member {
    std::int32_t segment = -1;  ///< index into segments_; none: the operation is launched by itself
    bool first = false;         ///< its step launches the whole segment
  };
  struct PreparedSegment {
    SegmentId id;
    Work work;
    MeasuredTrack::Nodes nodes;
  };
  /// A loop or branch that the device runs by itself.
  struct PreparedControl {
    ControlId id;
    Work work;
    MeasuredTrack::Nodes nodes;
  };
  /// The commands prepared for one turn of rotating buffers, by node and channel: all commands in the first turn, in the others only those
  /// inside such a loop.
  struct Turn {
    IdVector<NodeId, KernelId> kernels;
    IdVector<NodeId, Work> work;
    IdVector<NodeId, Member> members;
    std::map<NodeId, Rows> rows;                 ///< of operations launched by rows
    IdVector<ChannelId, Travelling> travelling;  ///< by the first channel of a coalesced transfer
  };
  [[nodiscard]] Turn& turn(std::int32_t number) { return turns_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] const Turn& turn() const { return turns_[static_cast<std::size_t>(turn_)]; }
  [[nodiscard]] const PreparedSegment* segment_of(NodeId node) const;

  /// Enqueues one command, described by `note`, in `stream` behind all commands that it depends on. `enqueue` enqueues the command itself;
  /// nullopt if it failed.
  template <class F>
  std::optional<Point> put(Stream stream, const WorkView& work, const MeasuredTrack::Note& note, const Origin& here, F&& enqueue);
  /// Issues a step of the program on the compute stream, or several steps if they are launched `together`.
  template <class F>
  bool issue(const WorkView& work, const Origin& here, F&& enqueue, const MeasuredTrack::Nodes& together = {});
  Status copy(const Travelling& to, const std::byte* from, const Origin& here);
  Status copy(std::byte* to, const Travelling& from, const Origin& here);
  Status copy_in_parts(const Range& to, const Ring::Slot& slot, Arrivals& arrivals, const Origin& here, bool& stopped);
  Status copy_in_parts(Ring::Slot& slot, const Range& from, const Origin& here);
  void note_arrivals(ChannelId channel);
  bool overlapped(const InParts& work, const Origin& here);
  void follow_parts(const Ring::Slot& slot, std::int64_t bytes);
  /// Records the copies that were just made through the channels coalesced with that of `step`.
  void note_copies(const Step& step, TransferCount& count, Stream stream);
  bool wait_for(Stream stream, const WorkView& work, double& start, const Origin& here);
  Status wait(Stream stream, const Event& event);
  bool fail(const Origin& here, Error error);
  bool launch(const Node& node, const Origin& here);
  bool launch(const PreparedControl& control, std::int64_t count, const Origin& here);
  bool take(Exchange& exchange, const Step& step, const Origin& here);
  bool give(Exchange& exchange, const Step& step, const Origin& here);
  std::optional<std::int64_t> decide_by_itself(const Step& step, ValueId value, const Origin& here);
  static MeasuredTrack::Note crossed(const Step& step);
  [[nodiscard]] Range transferred_range(const Step& step) const;
  /// Copies the contents of `values` to the host for verification.
  std::optional<std::vector<Array>> fetch(const std::vector<ValueId>& values, const Origin& here);
  [[nodiscard]] StorageIndex storage(ValueId value) const { return plan_.storage_of[value]; }
  /// The storage in the current turn of the run.
  [[nodiscard]] StorageIndex now_at(StorageIndex s) const { return double_buffers_ ? double_buffers_->at(s, turn_) : s; }
  [[nodiscard]] const Range& range(StorageIndex s) const { return plan_.storages[static_cast<std::size_t>(s)].range; }

  Prepared& prepared_;
  const Graph& graph_;
  const DeviceId id_;
  Device& device_;
  Streams& streams_;
  const Fusion& fusion_;
  const MemoryPlan& plan_;
  std::vector<Turn> turns_;
  std::vector<PreparedSegment> segments_;
  std::map<NodeId, InParts> in_parts_;
  IdVector<ChannelId, Arrivals> arrivals_;
  std::map<NodeId, PreparedControl> controls_;         ///< by control node; only the outermost ones
  std::set<std::size_t> controlled_blocks_;            ///< blocks inside of these
  IdVector<NodeId, std::int64_t> orders_;              ///< of compute steps
  std::set<const std::vector<Move>*> prepared_moves_;  ///< moves that are part of a segment
  std::vector<NodeId> leaves_;                         ///< inputs and parameters with a copy on this device
  Hazards hazards_;
  std::vector<Move> states_;      ///< from each next value to its state, for states on this device
  std::byte* fetched_ = nullptr;  ///< staging for one value at a time: in verify mode, of states and of predicates decided on the device
  std::set<NodeId> alone_;        ///< control nodes that the device decides

  RunState* run_ = nullptr;
  const DoubleBuffers* double_buffers_ =
      nullptr;  ///< of the innermost rotating loop that the run is in; null: all storages are where the plan has them
  std::int32_t turn_ = 0;
  bool verify_ = false, observes_ = false;
  std::function<void(std::string_view, double)> on_verify_;
  RunProgress* progress_ = nullptr;
  double driver_ = 0;                         ///< virtual: the time until which the driver has waited
  std::array<double, kStreamCount> clock_{};  ///< virtual: the time at which each stream is free
  double begun_ = 0, ends_ = 0;               ///< virtual: begin and end of the last command
  std::array<std::array<std::uint64_t, kStreamCount>, kStreamCount>
      waited_{};  ///< the sequence up to which a stream has already waited for another
  std::vector<Point> waits_;
  Position host_reached_;  ///< the position that the host has reached when the compute stream gets to the current command
  TransferCount received_, sent_;
  Track track_;
  Observation observation_;
  MeasuredTrack measured_;  ///< of a device with a real clock
};

template <class F>
std::optional<Point> DeviceSide::put(Stream stream, const WorkView& work, const MeasuredTrack::Note& note, const Origin& here,
                                     F&& enqueue) {
  double& clock = clock_[static_cast<std::size_t>(stream)];
  double start = std::max(clock, driver_);
  if (!wait_for(stream, work, start, here)) return std::nullopt;
  begun_ = start;
  ends_ = start + work.seconds;
  Status status = measured_.expect(stream, note);
  if (status) status = enqueue();
  if (!status) {
    fail(here, status.error());
    return std::nullopt;
  }
  clock = ends_;
  Point point{work.awaited ? streams_.record_awaited(stream) : streams_.record(stream), clock};
  for (StorageIndex s : work.reads) hazards_.after(stream, s, false, point);
  for (StorageIndex s : work.writes) hazards_.after(stream, s, true, point);
  return point;
}

}  // namespace cleave::runtime
