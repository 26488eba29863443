// DeviceSide: what the driver thread of one accelerator does at each step of its program: it enqueues, and waits only for the host's values
// and decisions. What waits for what on the device is said by events (hazards.h); the virtual clock follows the same waits.
#pragma once

#include <array>
#include <map>
#include <set>
#include <span>

#include "executor/memory/segments.h"
#include "executor/report/observation.h"
#include "executor/run/hazards.h"
#include "executor/run/measured_track.h"
#include "executor/run/prepared.h"
#include "executor/run/walk.h"
#include "partitioner/machine/row_cut.h"

namespace cleave::runtime {

class DeviceSide final : public Worker {
 public:
  /// Takes the device's arena, prepares its kernels and uploads its constants.
  static Result<std::unique_ptr<DeviceSide>> create(Prepared& prepared, DeviceId id);

  /// Before each run. `leaves` are read by inputs and parameters that have a copy here.
  /// What is `resident` is there since the run before.
  Status begin(RunState& run, const RunOptions& options, const std::map<NodeId, Array>& leaves, const std::set<NodeId>& resident);
  /// Ends a run that began but will not be driven.
  void end() { device_.end_run(); }
  /// The driver thread: the whole program, then until the device is idle. Where a state lies here, the run goes on until finish().
  /// `start`: from where the timeline counts.
  void drive(RunState::Clock::time_point start);
  [[nodiscard]] bool keeps_states() const { return !states_.empty(); }
  /// The driver thread: the values that the run left become those of the states, unless it failed.
  Status finish(bool went_well);
  /// The driver thread, between runs: the contents of a value that lies here from run to run.
  Result<Array> read(ValueId value);

  [[nodiscard]] const TransferCount& received() const { return received_; }
  [[nodiscard]] const TransferCount& sent() const { return sent_; }
  /// When the last stream ends, on the virtual clock.
  [[nodiscard]] double now() const;
  [[nodiscard]] Track& track() { return track_; }
  /// Of the loops and branches that were decided here.
  [[nodiscard]] const Observation& observation() const { return observation_; }

  bool compute(const Step& step, const Origin& here, std::int64_t trip) override;
  bool send(const Step& step, const Origin& here) override;
  bool receive(const Step& step, const Origin& here) override;
  bool move(const std::vector<Move>& moves, const Origin& here) override;
  void rotate(const Rotation& rotation, std::int64_t trips) override;
  bool settle(const Rotation& rotation, const Origin& here) override;
  bool discard(const std::vector<StorageIndex>& dead, const Origin& here) override;
  std::optional<std::int64_t> decide(const Step& step, ValueId value, const Origin& here) override;
  [[nodiscard]] bool runs_whole(const Step& step) const override;
  bool run_whole(const Step& step, const Origin& here) override;
  void enter(NodeId control) override;
  void outcome(NodeId control, std::int64_t value) override;
  bool leave(const Step&, const Origin&) override { return true; }

 private:
  /// Memory that one command touches, and how long it takes.
  struct Work {
    std::vector<StorageIndex> reads, writes;
    double seconds = 0;
    bool awaited = false;  ///< a later trip's copy will wait for it
  };
  /// The same where it is only read.
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
    PiecesId pieces;  ///< none: the one storage by itself
    double seconds = 0;
  };
  /// An operation that is launched some rows at a time, each as soon as what they need has come.
  struct InParts {
    std::vector<ChannelId> coming;
    std::vector<double> shares;  ///< of the operation, by launch
  };
  /// What is launched for one.
  struct Rows {
    std::vector<KernelId> kernels;
    Work beside;  ///< what it touches beside what comes
  };
  /// What comes for one, by launch.
  struct Arrivals {
    std::vector<std::size_t> parts;  ///< that must have come before it; none: nobody works on it while it comes
    std::vector<Event> there;
    std::vector<double> times;  ///< virtual
  };
  DeviceSide(Prepared& prepared, DeviceId id);
  static Hazards watch_transfers(const Prepared& prepared, DeviceId id);
  Status prepare_steps();
  Status prepare_travelling();
  void find_awaited();
  Status prepare_kernel(NodeId id, const Rotation* rotation);
  Status prepare_kernel(NodeId id, const Rotation* rotation, std::int32_t turn);
  [[nodiscard]] KernelRequest request_of(NodeId id, const Work& work) const;
  Status prepare_overlaps();
  Status prepare_overlap(NodeId id, const RowCut& cut, const std::vector<ChannelId>& coming, const Rotation* rotation);
  Result<Rows> prepare_rows(NodeId id, const RowCut& cut, const std::vector<std::int64_t>& ends, const std::vector<ChannelId>& coming,
                            const Rotation* rotation, std::int32_t turn);
  Status prepare_travelling(ChannelId id, const Rotation* rotation, std::int32_t turn);
  void prepare_controls();
  void prepare_control(const Step& step, std::size_t block, std::size_t index);
  void note_values(const Step& step, Work& work) const;
  void prepare_segments();
  void prepare_segment(const Segment& segment, std::vector<NodeId> nodes);
  Status upload(NodeId leaf, const Array& array);
  Status make_room_to_fetch();

  /// What an operation is in a prepared segment.
  struct Member {
    std::int32_t segment = -1;  ///< index into segments_; none: it is launched by itself
    bool first = false;         ///< launches it all
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
  /// What is prepared for one turn of the loops whose storages take turns: by node and channel, all in the first, in the others what is in
  /// such a loop.
  struct Turn {
    IdVector<NodeId, KernelId> kernels;
    IdVector<NodeId, Work> work;
    IdVector<NodeId, Member> members;
    std::map<NodeId, Rows> rows;                 ///< of operations in parts
    IdVector<ChannelId, Travelling> travelling;  ///< by the first of what travels as one
  };
  [[nodiscard]] Turn& turn(std::int32_t number) { return turns_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] const Turn& turn() const { return turns_[static_cast<std::size_t>(turn_)]; }
  [[nodiscard]] const PreparedSegment* segment_of(NodeId node) const;

  /// Puts one command, which is for `note`, into `stream` behind all that it must wait for. `enqueue` does it; nothing if it failed.
  template <class F>
  std::optional<Point> put(Stream stream, const WorkView& work, const MeasuredTrack::Note& note, const Origin& here, F&& enqueue);
  /// A step of the program, on the compute stream, of several where they are launched `together`.
  template <class F>
  bool issue(const WorkView& work, const Origin& here, F&& enqueue, const MeasuredTrack::Nodes& together = {});
  Status copy_in_parts(const Range& to, const Ring::Slot& slot, Arrivals& arrivals, const Origin& here, bool& stopped);
  Status copy_in_parts(Ring::Slot& slot, const Range& from, const Origin& here);
  void note_arrivals(ChannelId channel);
  bool overlapped(const InParts& work, const Origin& here);
  void follow_parts(const Ring::Slot& slot, std::int64_t bytes);
  /// Notes what has just been copied through the channels that travel with that of `step`.
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
  [[nodiscard]] Range crossing(const Step& step) const;
  /// The contents of `values`, brought to the host for verification.
  std::optional<std::vector<Array>> fetch(const std::vector<ValueId>& values, const Origin& here);
  [[nodiscard]] StorageIndex storage(ValueId value) const { return plan_.storage_of[value]; }
  /// Where it is in the turn that the run is in.
  [[nodiscard]] StorageIndex now_at(StorageIndex s) const { return rotation_ ? rotation_->at(s, turn_) : s; }
  [[nodiscard]] const Range& range(StorageIndex s) const { return plan_.storages[static_cast<std::size_t>(s)].range; }

  Prepared& prepared_;
  const Graph& graph_;
  const DeviceId id_;
  Device& device_;
  const Fusion& fusion_;
  const MemoryPlan& plan_;
  std::vector<Turn> turns_;
  std::vector<PreparedSegment> segments_;
  std::map<NodeId, InParts> in_parts_;
  IdVector<ChannelId, Arrivals> arrivals_;
  std::map<NodeId, PreparedControl> controls_;         ///< by control node; the outermost
  std::set<std::size_t> controlled_blocks_;            ///< inside of these
  IdVector<NodeId, std::int64_t> orders_;              ///< of compute steps
  std::set<const std::vector<Move>*> prepared_moves_;  ///< that are part of a segment
  std::vector<NodeId> leaves_;                         ///< inputs and parameters with a copy here
  Hazards hazards_;
  std::vector<Move> states_;      ///< that lie here, from their next values
  std::byte* fetched_ = nullptr;  ///< staging for one value at a time: in verify mode, of states and of what is decided here
  std::set<NodeId> alone_;        ///< control nodes that are decided here

  RunState* run_ = nullptr;
  const Rotation* rotation_ = nullptr;  ///< of the loop that the run is in; null: nothing is elsewhere than the plan has it
  std::int32_t turn_ = 0;
  bool verify_ = false, observes_ = false;
  std::function<void(std::string_view, double)> on_verify_;
  RunProgress* progress_ = nullptr;
  double driver_ = 0;                                                           ///< virtual: what the driver has waited for so far
  std::array<double, kStreamCount> clock_{};                                    ///< virtual: when each stream is free
  double begun_ = 0, ends_ = 0;                                                 ///< virtual: of the last command
  std::array<std::array<std::uint64_t, kStreamCount>, kStreamCount> waited_{};  ///< what a stream has already waited for
  std::vector<Point> waits_;
  Position host_reached_;  ///< what the host has done by the time that the compute stream gets here
  TransferCount received_, sent_;
  Track track_;
  Observation observation_;
  MeasuredTrack measured_;  ///< of a device with a clock of its own
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
  Point point{work.awaited ? device_.record_awaited(stream) : device_.record(stream), clock};
  for (StorageIndex s : work.reads) hazards_.after(stream, s, false, point);
  for (StorageIndex s : work.writes) hazards_.after(stream, s, true, point);
  return point;
}

}  // namespace cleave::runtime
