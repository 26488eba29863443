// HostSide: executes the steps of the host's program on the caller's thread: kernels on the host's arena, decisions for itself and for the
// devices that it drives, and the host's end of the channels. Concurrent calls (planner::beside) run until a step accesses their memory, an
// effect comes, or their block ends. They run on workers (calls.h), or are begun here and completed by the holder of their token.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "executor/device/kernel.h"
#include "executor/report/observation.h"
#include "executor/report/sample_clock.h"
#include "executor/run/clock/track.h"
#include "executor/run/driver/calls.h"
#include "executor/run/driver/host_storage.h"
#include "executor/run/driver/outputs.h"
#include "executor/run/driver/result_memory.h"
#include "executor/run/driver/walk.h"
#include "executor/run/prepare/overlap.h"
#include "executor/run/prepare/prepared.h"

namespace cleave::runtime {

class HostSide final : public Worker {
 public:
  /// Allocates the host's arena; an Error if memory is short. Outputs are handed in to `outputs` as the host reaches them.
  static Result<std::unique_ptr<HostSide>> create(Prepared& prepared, Outputs& outputs);

  /// Must be called before each run. An Error if memory for its results is short.
  Status begin(RunState& run, const RunOptions& options, std::map<NodeId, Array> leaves, bool virtual_time);
  /// Releases the caller's arrays.
  void end() {
    leaves_.clear();
    leaving_.clear();
    options_ = {};
  }
  /// Must be called after the walk, however it ended: waits until no call is pending.
  void end_calls();
  [[nodiscard]] Array output(ValueId value) const;
  [[nodiscard]] double now() const { return now_; }
  /// The timeline's zero.
  [[nodiscard]] RunState::Clock::time_point start() const { return start_; }
  [[nodiscard]] const Observation& observation() const { return observation_; }
  [[nodiscard]] Track& track() { return track_; }

  bool compute(const Step& step, const Origin& here, std::int64_t trip) override;
  bool send(const Step& step, const Origin& here) override;
  bool receive(const Step& step, const Origin& here) override;
  bool move(const std::vector<Move>& moves, const Origin& here) override;
  void rotate(const DoubleBuffers&, std::int64_t) override {}  // the host's plan has none
  bool settle(const DoubleBuffers&, const Origin&) override { return true; }
  bool discard(const std::vector<StorageIndex>&, const Origin&) override { return true; }
  bool end_block(const Origin& here) override;
  std::optional<std::int64_t> decide(const Step& step, ValueId value, const Origin& here) override;
  void enter(NodeId control) override;
  void outcome(NodeId control, std::int64_t value) override;
  bool leave(const Step& control, const Origin& here) override;

 private:
  /// A call that runs concurrently with the steps.
  struct BesideCall : Calls::Call {
    std::optional<BegunCall> pending;  ///< an asynchronous call, completed by the user's code
    int lane = 0;                      ///< of the timeline: differs from those of all other pending calls
    double virtual_begin = 0, virtual_end = 0;
  };
  struct Operation {
    std::unique_ptr<HostKernel> kernel;  ///< null: the node runs with a later one
    const Attributes* attributes = nullptr;
    std::uint32_t first_view = 0;        ///< index into views_: the inputs, then the results
    bool calls_user = false;             ///< a host function, which may make the host wait
    bool moves = false;                  ///< the address of some of its values may change
    bool pends = false;                  ///< concurrent and asynchronous: completed by the user's code instead of a worker
    std::unique_ptr<BesideCall> beside;  ///< null: the call runs in program order
  };
  /// The state of a channel whose values are computed or read while they are transferred.
  struct TransferProgress {
    Ring::Slot* slot = nullptr;  ///< received before its chunks have arrived, or published before its send step
    std::size_t parts = 0;       ///< number of chunks received or made
    double begun = 0, end = 0,
           free = 0;           ///< virtual: begin and end of the operation that makes the value; the time at which the slot was free
    std::vector<double> made;  ///< virtual: the time at which each chunk but the last was made
  };
  HostSide(Prepared& prepared, Outputs& outputs)
      : prepared_(prepared),
        graph_(prepared.graph()),
        fusion_(prepared.fusions[kHost]),
        plan_(prepared.plans[kHost]),
        outputs_(outputs),
        storage_(prepared),
        calls_(prepared.program->workers) {}
  [[nodiscard]] bool is_kept(ValueId value) const;
  void prepare_operations();
  void prepare_operation(NodeId id);
  [[nodiscard]] KernelRequest request_of(NodeId id) const;
  void prepare_overlaps();
  /// The values that a node's kernel reads and writes; for the last node of a group, those of the whole group.
  [[nodiscard]] const std::vector<ValueId>& reads(NodeId id) const;
  [[nodiscard]] const std::vector<ValueId>& writes(NodeId id) const;
  void find_read();
  Status take_leaving();

  bool operation(const Node& node, const Origin& here);
  bool operation(const Node& node, const Origin& here, const CallLimits* limits);
  [[nodiscard]] KernelCall call_of(const Node& node, NodeId id, const CallLimits* limits);
  [[nodiscard]] KernelCall placed_call(const Node& node, NodeId id, const OpContext& context) const;
  // Concurrent calls (host_calls.cpp).
  bool start_call(const Node& node, const Origin& here);
  void time_virtually(BesideCall& call, bool pends);
  [[nodiscard]] int free_lane() const;
  Status run_call(const Calls::Call& call);
  bool begin_pending(BesideCall& call);
  void end_pending(BesideCall& call);
  bool end_call(BesideCall& call);
  template <class Condition>
  bool end_calls_if(const Condition& concerned);
  [[nodiscard]] bool touches(const BesideCall& call, const std::byte* data, std::int64_t bytes, bool writes) const;
  bool settle_storage(StorageIndex storage, bool writes);
  bool settle(ValueId value, bool writes) { return under_way_.empty() || settle_storage(plan_.storage_of[value], writes); }
  bool settle(std::span<const ValueId> values, bool writes) {
    return under_way_.empty() || std::all_of(values.begin(), values.end(), [&](ValueId value) { return settle(value, writes); });
  }
  bool settle_step(const Node& node, NodeId id);
  bool settle_travelling(ChannelId first, bool writes);
  void find_places(NodeId id);
  [[nodiscard]] bool overlaps(NodeId id) const { return !overlaps_[id].ranges.empty() && !options_.verify; }
  bool overlapped(const Node& node, const Origin& here, double& waited);
  bool run_range(const KernelCall& call, const Origin& here, std::int64_t begin, const Overlap::Range& range, SampleClock::Sample& sample);
  bool take_later(const Step& step, Ring::Slot& slot);
  bool take_parts(const Overlap::OverlappedTransfer& of, std::size_t until, const Origin& here, double& waited);
  bool take_rest(const Overlap::OverlappedTransfer& of, const Origin& here, double& waited);
  void begin_to_leave(const Overlap::OverlappedTransfer& of);
  void give_parts(const Overlap::OverlappedTransfer& of, std::size_t until);
  static void tell_times(const TransferProgress& progress, Ring::Slot& slot);
  void send_in_parts(Ring& ring, Ring::Slot& slot, ValueId value);
  bool take(const Step& step, const Origin& here);
  bool fail(const Origin& here, Error error);
  void observe(NodeId node, const SampleClock::Sample& sample);
  /// Waits for a device's event on behalf of `here`.
  bool synchronize(DeviceId device, const Point& point, const Origin& here);
  bool await(DeviceId device, const Event& event, const Origin& here);
  bool await(const Exchange& exchange, DeviceId device, std::uint64_t number, const MailboxSlot* slot, const Origin& here);
  bool send(Exchange& exchange, const Step& step, const Origin& here);
  bool take(Exchange& exchange, const Step& step, const Origin& here);
  void pack(const Step& step, std::byte* to) const;
  /// The time on the timeline's clock: the virtual one, or seconds since the run began.
  [[nodiscard]] double time() const;
  [[nodiscard]] std::byte* data(ValueId value) const { return storage_.of(value); }
  [[nodiscard]] std::int64_t bytes_of(ValueId value) const { return graph_.values[value].type.bytes(); }
  [[nodiscard]] Array snapshot(const TensorView& view) const;
  bool hand_in(ValueId value, const Origin& here) {
    if (!outputs_.listening()) return true;
    if (!settle(value, false)) return false;
    const Status told = outputs_.hand_in(value, [&] { return output(value); });
    return told.ok() || fail(here, told.error());
  }

  Prepared& prepared_;
  const Graph& graph_;
  const Fusion& fusion_;
  const MemoryPlan& plan_;
  Outputs& outputs_;
  HostStorage storage_;
  IdVector<NodeId, Operation> operations_;
  IdVector<NodeId, Overlap> overlaps_;
  IdVector<ChannelId, TransferProgress> progress_;
  Calls calls_;
  std::vector<BesideCall*> under_way_;  ///< in program order
  std::vector<double> workers_free_;    ///< virtual: the time from which each worker is free
  std::vector<TensorView> views_;
  std::vector<std::uint8_t> kept_;  ///< one flag for each of views_: a constant, or a parameter with the program's own data
  IdVector<ValueId, std::uint8_t> read_here_;

  RunState* run_ = nullptr;
  RunOptions options_;
  OpContext context_;
  std::map<NodeId, Array> leaves_;
  ResultMemory result_memory_;
  std::map<StorageIndex, Array> leaving_;  ///< the arrays in which outputs are computed: the caller's or new ones
  std::set<ValueId> given_;                ///< results that are in the caller's memory only
  std::set<NodeId> changes_;               ///< states that runs change
  bool virtual_time_ = false;
  double now_ = 0;  ///< virtual
  RunState::Clock::time_point start_;
  Observation observation_;
  SampleClock sample_clock_;
  Track track_;
};

}  // namespace cleave::runtime
