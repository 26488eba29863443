// The simulation executes the steps of all devices in their one global order, which is a possible order of events. Four clocks say when
// each resource is free.
//
// It models the executor (executor/run/README.md). The host waits at the receive of an accelerator's value. The accelerator's
// driver waits at a receive until the value is sent, and then enqueues the copy; the accelerator itself waits at the first read of the
// value until the copy has finished. A copy to the host begins when the value is computed.
//
// The reuse of memory is not modelled. The executor double-buffers values that are transferred in loops, so that it does not wait for
// memory either. (If bursts are simulated, a value has these two buffers on the accelerator, and the copy of a value waits until the last
// value but one has been read.) Operations that overlap with the transfer of large values (copy_overlap.h) are simulated as one piece of
// work, as early as the first and the last part allow.
//
// Host calls that overlap other steps take the worker that is free first if workers make them. Readers of a call's results, effects and
// the end of the call's block wait for its end.
#include "partitioner/apply/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "partitioner/apply/bursts.h"
#include "partitioner/apply/coalesce.h"
#include "partitioner/apply/copy_overlap.h"
#include "partitioner/apply/critical_path.h"
#include "partitioner/apply/rooms.h"
#include "partitioner/apply/schedule_trace.h"
#include "partitioner/apply/schedule_waits.h"
#include "partitioner/apply/step_costs.h"

namespace cleave::planner {
namespace {

constexpr int kMostIterations = 5;     ///< iterations to simulate of each loop
constexpr double kMostSteps = 4e6;     ///< steps to simulate in total, if fewer iterations can achieve that
constexpr std::size_t kResources = 4;  ///< host, accelerator, engine to the accelerator, engine to the host, as in Resource
constexpr std::size_t kDriver = 4;     ///< index of the driver's clock: the time until which the driver has waited

/// The state of all clocks of the simulation.
struct State {
  std::array<Moment, kResources + 1> now{};  ///< each resource, then the driver
  double waited = 0;                         ///< seconds of waiting of the accelerator
  std::array<double, 2> idle{};              ///< the times since which host and accelerator have nothing to do
  std::array<double, kResources> busy{};     ///< how long each resource was at work
};

/// Simulates one run of a program with given times for its pieces of work.
class Simulator {
 public:
  Simulator(const Program& program, const Transfers& transfers, const CostedProblem& costed, const StepTimes& times,
            ScheduleRecorder* recorder, CriticalPathRecorder* path, const Bursts* bursts = nullptr)
      : program_(program),
        graph_(*program.graph),
        transfers_(transfers),
        costed_(costed),
        recorder_(recorder),
        path_(path),
        bursts_(bursts),
        times_(times),
        copy_overlaps_{planned_copy_overlaps(program, kHost), planned_copy_overlaps(program, kAccelerator)},
        worked_on_(program.channels.size(), 0),
        sent_(program.channels.size()),
        first_sent_(program.channels.size()),
        staged_(program.channels.size()),
        arrival_(program.channels.size()),
        made_(graph_.values.size()),
        coming_(graph_.values.size()),
        same_(graph_.values.size()),
        rooms_(program, bursts != nullptr),
        full_seconds_(bursts ? program.channels.size() : 0, 0),
        came_(bursts ? program.channels.size() : 0),
        executions_(bursts ? graph_.nodes.size() : 0, 0),
        workers_(static_cast<std::size_t>(std::max(1, program.workers))),
        waits_(program) {}

  Schedule run() {
    iterations_ = choose_iterations();
    for (const Overlaps& device : copy_overlaps_)
      for (const auto& [node, each] : device)
        for (const ChannelId channel : each.coming) worked_on_[channel] = 1;
    work(0, costed_.problem.nodes.back().host_seconds, NodeId());
    schedule_.waiting.emplace_back();
    push_block(0, 0);
    while (!tasks_.empty()) advance();
    for (std::size_t r = 0; r < kResources; ++r) end_ = later(end_, state_.now[r]);
    schedule_.seconds = end_.seconds;
    schedule_.busy_seconds = state_.busy;
    schedule_.waiting[0].seconds = schedule_.seconds;
    schedule_.waiting[0].wait_seconds = state_.waited;
    schedule_.transfers = transfer_times(program_, transfers_, times_.copies, waits_);
    schedule_.waiting = worst_waits(program_, costed_, waits_, std::move(schedule_.waiting));
    return std::move(schedule_);
  }
  [[nodiscard]] const Moment& end() const { return end_; }
  [[nodiscard]] ChannelUse use() {
    const double busiest = *std::max_element(state_.busy.begin(), state_.busy.end());
    return {end_.seconds, busiest, std::move(full_seconds_), rooms_.in_use()};
  }

 private:
  /// A host call that began and whose end was not waited for.
  struct Call {
    NodeId node;
    Moment end;
  };
  struct Task {
    enum What : std::uint8_t { block, loop, arm, arm_end, decide, close_loop } what = block;
    const Block* blocks[2] = {nullptr, nullptr};  ///< for `block`: those of host and accelerator
    std::size_t next[2] = {0, 0};
    const Step* steps[2] = {nullptr, nullptr};  ///< for all others: the control step on host and on accelerator; one of them may be missing
    int iteration = 0;                          ///< for `loop`: iterations done; for `arm` and `arm_end`: which arm
    bool whole = false;                         ///< for `arm` and `arm_end`: the arm is taken for certain, not weighted by its probability
    State begin, start;  ///< for `loop`: the states before its last period and before the loop; for `arm_end`: before the arm
  };

  static NodeId control_of(const Task& task) { return (task.steps[0] ? task.steps[0] : task.steps[1])->node; }
  [[nodiscard]] const Node& node_of(const Task& task) const { return graph_.nodes[control_of(task)]; }

  /// Adds the loop or arm of `task`, which began at `start`, as pieces to the trace of the frame around it.
  void leave(const Task& task, const State& start) {
    if (!recorder_) return;
    const std::size_t frame = recorder_->leave();
    for (std::size_t r = 0; r < kResources; ++r) {
      const double busy = state_.busy[r] - start.busy[r];
      if (busy > 0)
        recorder_->add({ScheduledPiece::What::inner, static_cast<Resource>(r), control_of(task), frame, start.now[r].seconds,
                        state_.now[r].seconds, busy});
    }
  }

  /// Extrapolates: all that happened since `begin` happens `1 + factor` times. If `settled`, the period before took as long, and the
  /// critical path repeats that one, since the last one may end with work that is not repeated.
  void repeat_since(const State& begin, double factor, bool settled) {
    for (std::size_t i = 0; i < state_.now.size(); ++i) {
      Moment& now = state_.now[i];
      const double period = now.seconds - begin.now[i].seconds;
      now = path_ ? path_->repeated(now, factor, period, settled ? period : 0) : Moment{now.seconds + factor * period};
    }
    state_.waited += factor * (state_.waited - begin.waited);
    for (std::size_t i = 0; i < state_.idle.size(); ++i) state_.idle[i] += factor * (state_.idle[i] - begin.idle[i]);
    for (std::size_t i = 0; i < state_.busy.size(); ++i) state_.busy[i] += factor * (state_.busy[i] - begin.busy[i]);
  }
  /// The moment after `seconds` of work.
  Moment after(const Moment& before, double seconds, std::size_t resource, NodeId node, ChannelId channel = {}) {
    return path_ ? path_->after(before, seconds, static_cast<Resource>(resource), node, channel) : Moment{before.seconds + seconds};
  }

  /// The number of iterations to simulate that the budget allows. Steps in nested loops are simulated this number to the power of their
  /// depth.
  int choose_iterations() const {
    std::vector<double> steps;  // by number of loops around them
    IdVector<RegionId, std::size_t> loops(graph_.regions.size(), 0);
    for (std::size_t i = 1; i < graph_.regions.size(); ++i) {
      const Region& region = graph_.regions[RegionId(i)];
      const bool repeats = region.kind == RegionKind::for_body || region.kind == RegionKind::while_condition;
      loops[RegionId(i)] = loops[region.parent] + (repeats ? 1 : 0);
    }
    for (const DeviceProgram& device : program_.devices) {
      for (const Block& block : device.blocks) {
        if (loops[block.region] >= steps.size()) steps.resize(loops[block.region] + 1);
        steps[loops[block.region]] += static_cast<double>(block.steps.size());
      }
    }
    for (int k = kMostIterations; k > 1; --k) {
      double total = 0;
      for (std::size_t depth = 0; depth < steps.size(); ++depth) total += steps[depth] * std::pow(k, static_cast<double>(depth));
      if (total <= kMostSteps) return k;
    }
    return 1;
  }

  void push_block(BlockIndex host, BlockIndex accelerator) {
    Task task;
    const BlockIndex index[2] = {host, accelerator};
    for (std::size_t d = 0; d < 2; ++d) {
      const auto& blocks = program_.devices[DeviceId(d)].blocks;
      if (index[d] != kNoBlock) task.blocks[d] = &blocks[static_cast<std::size_t>(index[d])];
    }
    tasks_.push_back(task);
  }
  void push_block(const Task& control, std::size_t k) {
    const auto block = [&](const Step* step) { return step ? step->blocks[k] : kNoBlock; };
    push_block(block(control.steps[0]), block(control.steps[1]));
  }
  void push(Task task, Task::What what) {
    task.what = what;
    tasks_.push_back(task);
  }

  void advance() {
    Task& task = tasks_.back();
    switch (task.what) {
      case Task::block: return step_block();
      case Task::loop: return iterate();
      default: break;
    }
    const Task done = task;
    tasks_.pop_back();
    switch (done.what) {
      case Task::arm: {
        Task end = done;
        end.begin = state_;
        if (recorder_) recorder_->enter(control_of(done), static_cast<std::size_t>(done.iteration));
        push(end, Task::arm_end);
        push_block(done, static_cast<std::size_t>(done.iteration));
        break;
      }
      case Task::arm_end: {
        const double then = node_of(done).expected;
        if (!done.whole) repeat_since(done.begin, (done.iteration == 0 ? then : 1 - then) - 1, false);
        leave(done, done.begin);
        break;
      }
      case Task::decide: wait_for_decision(done); break;
      default: close_loop(done);
    }
  }

  void step_block() {
    Task& task = tasks_.back();
    const Step* next[2] = {nullptr, nullptr};
    for (std::size_t d = 0; d < 2; ++d) {
      if (task.blocks[d] && task.next[d] < task.blocks[d]->steps.size()) next[d] = &task.blocks[d]->steps[task.next[d]];
    }
    if (!next[0] && !next[1]) {
      if (task.blocks[1]) read_rest(task.blocks[1]->region);
      if (task.blocks[0] && !calls_.empty())
        end_calls_if([&](const Call& call) { return graph_.nodes[call.node].region == task.blocks[0]->region; });
      tasks_.pop_back();
      return;
    }
    const bool both = next[0] && next[1] && next[0]->order == next[1]->order;
    const std::size_t device = !next[0] || (next[1] && next[1]->order < next[0]->order) ? 1 : 0;
    ++task.next[device];
    if (both) ++task.next[1 - device];
    const Step& step = *next[device];
    switch (step.kind) {
      case StepKind::compute: compute(step.node, device); break;
      case StepKind::send: send(step, device); break;
      case StepKind::receive: receive(step, device); break;
      default: enter(device == 0 ? &step : nullptr, both ? next[1] : device == 1 ? &step : nullptr);
    }
  }

  /// Simulates an operation that only renames its operand on the accelerator: its result shares the operand's bytes and arrival.
  void rename(const Node& node) {
    const ValueId from = whose(node.inputs[0]), to = node.results[0];
    same_[to] = from;
    made_[to] = coming_[from] ? later(made_[from], arrival_[coming_[from].index]) : made_[from];
  }
  [[nodiscard]] ValueId whose(ValueId value) const { return same_[value] ? same_[value] : value; }

  void compute(NodeId node, std::size_t device) {
    const double seconds = times_.steps[device][node];
    const OpDef* op = graph_.nodes[node].op;
    if (device == 0 && op) {
      if (!calls_.empty()) settle(node);
      if (runs_beside(program_, node)) return begin_call(node, seconds);
    }
    if (device == 1 && op && op->keeps_bytes && seconds == 0) return rename(graph_.nodes[node]);
    static const CopyOverlap kNothing;
    const auto found = copy_overlaps_[device].find(node);
    const CopyOverlap& beside = found == copy_overlaps_[device].end() ? kNothing : found->second;
    for (const ChannelId channel : beside.coming) wait_for_parts(channel, device, seconds, node);
    if (device == 1)
      for (ValueId input : graph_.nodes[node].inputs) read(input);
    const Moment begin = state_.now[device];
    work(device, seconds, node);
    for (const ChannelId channel : beside.leaving)
      first_sent_[channel.index] = rooms_.next(channel).seconds <= begin.seconds
                                       ? after(begin, seconds / static_cast<double>(parts(channel)), device, node)
                                       : state_.now[device];
    if (device == 1) {
      for (const ValueId result : graph_.nodes[node].results) made_[result] = state_.now[1];
      return;
    }
    for (const ChannelId channel : beside.coming) rooms_.give_back(channel, state_.now[0]);
  }

  // --- host calls that overlap other steps ---------------------------------------------------------------------------------------------
  void begin_call(NodeId node, double seconds) {
    Moment begin = state_.now[0];
    const bool on_worker = beside(program_, node) == HostFunction::Beside::on_worker;
    const auto sooner = [](const Moment& a, const Moment& b) { return a.seconds < b.seconds; };
    const auto free = std::min_element(workers_.begin(), workers_.end(), sooner);
    if (on_worker) begin = later(begin, *free);
    calls_.push_back({node, after(begin, seconds, kHost.index, node)});
    if (on_worker) *free = calls_.back().end;
  }
  /// Waits for calls that must end before the host executes `node`.
  void settle(NodeId node) {
    if (graph_.purity(node) == Purity::effect) return end_calls_if([](const Call&) { return true; });
    for (const ValueId input : graph_.nodes[node].inputs) settle_value(input);
  }
  void settle_value(ValueId value) {
    if (calls_.empty()) return;
    const NodeId producer = graph_.values[value].producer;
    end_calls_if([&](const Call& call) { return call.node == producer; });
  }
  /// Waits for calls that must end before the host decides a loop or branch.
  void settle_decision(const Node& control) {
    for (const ValueId input : control.inputs) settle_value(input);
    for (const RegionId region : control.regions)
      if (const ValueId predicate = graph_.regions[region].predicate) settle_value(predicate);
  }
  /// While the host waits for the end of a call, it counts as busy with it.
  template <class Condition>
  void end_calls_if(const Condition& concerned) {
    std::erase_if(calls_, [&](const Call& call) {
      if (!concerned(call)) return false;
      Moment& now = state_.now[0];
      const double rest = call.end.seconds - now.seconds;
      if (rest <= 0) return true;
      busy(0, rest, ScheduledPiece::What::compute, call.node, 0);
      now = call.end;
      state_.idle[0] = now.seconds;
      return true;
    });
  }

  [[nodiscard]] std::int64_t parts(ChannelId channel) const {
    return (graph_.values[program_.channels[channel].value].type.bytes() + kPartBytes - 1) / kPartBytes;
  }
  /// The fraction of a transfer or of work in `parts` that comes after the first part.
  static double behind_first(std::int64_t parts) { return 1 - 1 / static_cast<double>(parts); }
  /// Waits, before work of `seconds` on a value that arrives in parts, until the first part has arrived and the work can go on without a
  /// pause until the last part has.
  void wait_for_parts(ChannelId channel, std::size_t device, double seconds, NodeId node) {
    const Moment there = arrival_[channel.index];
    const double behind = behind_first(device == 0 ? parts(channel) : launches_for(parts(channel), seconds, costed_.start_seconds));
    Moment from = later(after(there, -times_.copies[channel] * behind, engine_to(device), NodeId(), channel),
                        after(there, -seconds * behind, device, node));
    if (device == 1) from = later(from, staged_[channel.index]);  // the driver enqueues the operation after the copy
    note_reader(channel, device, from);
    wait(device, from, &waits_.channel[channel]);
    if (device == 1) coming_[program_.channels[channel].value] = {};
  }

  /// Simulates the send of a value, or of a whole coalesced transfer at its first send.
  void send(const Step& step, std::size_t device) {
    if (follows(program_, step.channel)) return;
    const std::size_t c = step.channel.index;
    if (device == 0 && !calls_.empty())
      for (const ChannelId channel : travelling_with(program_, step.channel)) settle_value(program_.channels[channel].value);
    double full = 0;  // the accelerator's wait for a free slot
    const Moment room = rooms_.next(step.channel);
    if (bursts_) note_use(step.channel, room, device);
    wait(device, room, &full);
    rooms_.take(step.channel);
    sent_[c] = state_.now[device];
    // The accelerator fetches a value of the host; if that is sent in parts, it may fetch some before the last is computed.
    if (device == 0) {
      staged_[c] = sent_[c];
      if (first_sent_[c].seconds > 0)
        sent_[c] = later(first_sent_[c], after(sent_[c], -times_.copies[step.channel] * behind_first(parts(step.channel)), engine_to(1),
                                               NodeId(), step.channel));
      return;
    }
    waits_.channel[step.channel] = full;
    Moment& driver = state_.now[kDriver];
    driver = later(driver, room);
    Moment start = driver;
    for (const ChannelId channel : travelling_with(program_, step.channel)) {
      const ValueId value = program_.channels[channel].value;
      const bool computed = graph_.producer(value).kind == NodeKind::operation;
      start = later(start, computed ? made_[value] : state_.now[1]);
    }
    copy(step.channel, engine_to(0), start);
  }
  static std::size_t engine_to(std::size_t device) { return device == 1 ? 2 : 3; }
  /// Simulates a copy of a value, or of a whole coalesced transfer, by an engine, not before `start`.
  void copy(const ChannelId& first, std::size_t engine, const Moment& start) {
    Moment& at = state_.now[engine];
    at = later(at, start);
    const std::span<const ChannelId> all = travelling_with(program_, first);
    for (const ChannelId channel : all) {
      const Channel& each = program_.channels[channel];
      const double seconds = times_.copies[channel];
      busy(engine, seconds, ScheduledPiece::What::copy, graph_.values[each.value].producer, each.transfer);
      at = after(at, seconds, engine, NodeId(), channel);
    }
    for (const ChannelId channel : all) arrival_[channel.index] = at;
  }

  void receive(const Step& step, std::size_t device) {
    const std::size_t c = step.channel.index;
    waits_.channel[step.channel] = 0;
    const bool first = !follows(program_, step.channel);
    if (first && device == 0) rooms_.give_back_held(step.channel, state_.now[0]);
    if (device == 0 && worked_on_[step.channel]) return;  // the next operation waits for the value in parts
    if (first) wait(device, device == 0 ? arrival_[c] : sent_[c], &waits_.channel[step.channel]);
    if (device == 0) {
      note_reader(step.channel, 0, arrival_[c]);
      if (first) rooms_.give_back(step.channel, state_.now[0]);
      return;
    }
    if (first) {
      Moment& driver = state_.now[kDriver];
      driver = later(driver, sent_[c]);
      copy(step.channel, engine_to(1), bursts_ ? later(driver, std::exchange(came_[c], state_.now[1])) : driver);
      rooms_.give_back(step.channel, arrival_[c]);
    }
    coming_[step.value] = step.channel;
    unread_.push_back(step.channel);
  }
  /// Records the use of a channel before a send that finds a free slot at time `room`.
  void note_use(ChannelId channel, const Moment& room, std::size_t device) {
    const double now = state_.now[device].seconds;
    rooms_.note_use(channel, now);
    full_seconds_[channel] += std::max(0.0, room.seconds - now);
  }

  /// Simulates the accelerator's read of `value`.
  void read(ValueId value) {
    const ChannelId channel = coming_[whose(value)];
    if (!channel || worked_on_[channel]) return;  // the operation itself waits
    coming_[whose(value)] = {};
    note_reader(channel, 1, arrival_[channel.index]);
    wait(1, arrival_[channel.index], &waits_.channel[channel]);
  }
  /// Reads all values that the accelerator received in a region, at the region's end, where they may be yielded. Values received in the
  /// root stay valid.
  void read_rest(RegionId region) {
    for (; !unread_.empty() && program_.channels[unread_.back()].region == region; unread_.pop_back())
      if (region != Graph::kRoot) read(program_.channels[unread_.back()].value);
  }

  /// Records the time from the end of the reader's last work to `there`, when the value arrives.
  void note_reader(ChannelId channel, std::size_t device, const Moment& there) {
    waits_.reader[channel] = std::max(0.0, there.seconds - state_.idle[device]);
  }

  /// Records work of a resource from its current time.
  void busy(std::size_t resource, double seconds, ScheduledPiece::What what, NodeId node, std::size_t index) {
    const double begin = state_.now[resource].seconds;
    if (recorder_) recorder_->add({what, static_cast<Resource>(resource), node, index, begin, begin + seconds, seconds});
    state_.busy[resource] += seconds;
  }
  void work(std::size_t device, double seconds, NodeId node) {
    if (seconds <= 0) return;
    busy(device, seconds, ScheduledPiece::What::compute, node, 0);
    state_.now[device] = after(state_.now[device], seconds, device, node);
    state_.idle[device] = state_.now[device].seconds;
  }
  void wait(std::size_t device, const Moment& until, double* record) {
    Moment& now = state_.now[device];
    const double waited = std::max(0.0, until.seconds - now.seconds);
    if (recorder_) recorder_->add({ScheduledPiece::What::wait, static_cast<Resource>(device), NodeId(), 0, now.seconds, until.seconds, 0});
    now = later(now, until);
    if (device == 0) return;
    state_.waited += waited;
    *record += waited;
  }
  /// Simulates the wait for a decision. If the accelerator decides itself, it need not wait.
  void wait_for_decision(const Task& task) {
    if (task.steps[0] && !calls_.empty()) settle_decision(graph_.nodes[control_of(task)]);
    if (!task.steps[0] || !task.steps[1]) return;
    double& waited = waits_.decision[control_of(task)];
    waited = 0;
    state_.now[kDriver] = later(state_.now[kDriver], state_.now[0]);
    wait(1, state_.now[0], &waited);
  }

  /// Simulates the work of deciding a branch, or one of `parts` iterations of a loop, on the device that decides.
  void decide(const Task& task, double parts) {
    const NodeId control = control_of(task);
    const PlacementProblem::Node& costs = costed_.problem.nodes[control.index];
    if (parts > 0) work(task.steps[0] ? 0 : 1, (task.steps[0] ? costs.host_seconds : costs.accelerator_seconds) / parts, control);
  }

  void enter(const Step* host, const Step* accelerator) {
    Task task;
    task.steps[0] = host;
    task.steps[1] = accelerator;
    if ((host ? host : accelerator)->kind == StepKind::branch) {
      decide(task, 1);
      wait_for_decision(task);
      const std::optional<int> taken = take_arm(control_of(task));
      task.whole = taken.has_value();
      for (int arm = 2; arm-- > 0;) {
        if (taken && *taken != arm) continue;
        task.iteration = arm;
        push(task, Task::arm);
      }
      return;
    }
    if (!node_of(task).inputs.empty()) wait_for_decision(task);
    if (accelerator)
      for (NodeId carried : accelerator->carried) read(graph_.nodes[carried].inputs[0]);
    if (host)
      for (NodeId carried : host->carried) settle_value(graph_.nodes[carried].inputs[0]);
    task.start = state_;
    if (accelerator) {
      loops_.push_back(schedule_.waiting.size());
      schedule_.waiting.push_back({control_of(task), 0, 0, {}, {}});
    }
    if (recorder_) recorder_->enter(control_of(task), 0);
    push(task, Task::loop);
  }

  /// The arm that a branch with bursts takes this time: in the first execution the then arm, later both as evenly as the probability
  /// allows.
  std::optional<int> take_arm(NodeId branch) {
    if (!bursts_ || !bursts_->whole_arms[branch]) return std::nullopt;
    constexpr double kRounding = 1e-9;
    const double then = graph_.nodes[branch].expected, before = executions_[branch]++;
    return std::ceil((before + 1) * then - kRounding) > std::ceil(before * then - kRounding) ? 0 : 1;
  }

  void iterate() {
    Task& task = tasks_.back();
    const Node& node = node_of(task);
    const double trips = node.expected;
    const int most = bursts_ ? bursts_->trips[control_of(task)] : iterations_;
    const int period = bursts_ ? bursts_->period[control_of(task)] : 1;
    const int count = std::clamp(static_cast<int>(std::min(trips, 1e6)), 1, most);
    if (task.iteration < count) {
      if (task.iteration == 0 || task.iteration <= count - period) task.begin = state_;
      if (recorder_) recorder_->next_trip();
      decide(task, trips);
      ++task.iteration;
      const Task copy = task;  // pushing tasks invalidates the reference
      if (node.kind == NodeKind::while_loop) {
        push_block(copy, 1);
        push(copy, Task::decide);
      } else if (graph_.regions[node.regions[0]].predicate) {
        push(copy, Task::decide);
      }
      push_block(copy, 0);
      return;
    }
    repeat_since(task.begin, (trips - count) / std::min(period, count), count > 2);
    if (recorder_) recorder_->pause();
    const Task done = task;
    tasks_.pop_back();
    push(done, Task::close_loop);
    if (node.kind == NodeKind::while_loop) {
      push(done, Task::decide);
      push_block(done, 0);
    }
  }

  void close_loop(const Task& task) {
    if (recorder_) recorder_->resume();
    leave(task, task.start);
    if (!task.steps[1]) return;
    Waiting& waiting = schedule_.waiting[loops_.back()];
    loops_.pop_back();
    waiting.seconds = state_.now[1].seconds - task.start.now[1].seconds;
    waiting.wait_seconds = state_.waited - task.start.waited;
  }

  const Program& program_;
  const Graph& graph_;
  const Transfers& transfers_;
  const CostedProblem& costed_;
  ScheduleRecorder* recorder_;  ///< may be null
  CriticalPathRecorder* path_;  ///< may be null
  const Bursts* bursts_;        ///< null: loops are extrapolated from their first iterations, and arms are weighted by their probability
  const StepTimes& times_;
  const std::array<Overlaps, 2> copy_overlaps_;
  IdVector<ChannelId, std::uint8_t> worked_on_;  ///< the receiver processes the value in parts while it arrives
  State state_;
  Moment end_;
  std::vector<Moment> sent_, first_sent_, staged_, arrival_;  ///< by channel, for the value sent last
  IdVector<ValueId, Moment> made_;                            ///< when the accelerator last computed the value
  IdVector<ValueId, ChannelId> coming_;  ///< the channel through which the accelerator received a value that it has not read yet
  IdVector<ValueId, ValueId> same_;      ///< for a renamed value on the accelerator: the value whose bytes it shares
  std::vector<ChannelId> unread_;        ///< channels received in the current regions, whether or not their values were read since
  Rooms rooms_;
  IdVector<ChannelId, double> full_seconds_;  ///< with bursts: how long senders waited for a free slot
  std::vector<Moment> came_;                  ///< with bursts: when the accelerator came to the last receive of a channel
  IdVector<NodeId, int> executions_;          ///< with bursts: by branch
  std::vector<Moment> workers_;               ///< the time from which each worker is free
  std::vector<Call> calls_;                   ///< in program order
  LastWaits waits_;
  std::vector<Task> tasks_;
  std::vector<std::size_t> loops_;  ///< current loops that the accelerator walks, as indices into `waiting`
  int iterations_ = 1;
  Schedule schedule_;
};

}  // namespace

StepTimes step_times(const Program& program, const CostedProblem& costed) {
  return {{step_seconds(program, kHost, costed), step_seconds(program, kAccelerator, costed)}, channel_seconds(program, costed)};
}

Schedule predict(const Program& program, const Transfers& transfers, const CostedProblem& costed, ScheduleRecorder* recorder) {
  return Simulator(program, transfers, costed, step_times(program, costed), recorder, nullptr).run();
}

Schedule predict_with(const StepTimes& times, const Program& program, const Transfers& transfers, const CostedProblem& costed) {
  return Simulator(program, transfers, costed, times, nullptr, nullptr).run();
}

std::optional<ChannelUse> predict_use(const StepTimes& times, const Program& program, const Transfers& transfers,
                                      const CostedProblem& costed) {
  const std::optional<Bursts> bursts = find_bursts(program);
  if (!bursts) return std::nullopt;
  Simulator simulator(program, transfers, costed, times, nullptr, nullptr, &*bursts);
  simulator.run();
  return simulator.use();
}

std::vector<PathPiece> critical_path(const StepTimes& times, const Program& program, const Transfers& transfers,
                                     const CostedProblem& costed, Schedule& schedule) {
  CriticalPathRecorder recorder;
  Simulator simulator(program, transfers, costed, times, nullptr, &recorder);
  schedule = simulator.run();
  return recorder.path_to(simulator.end());
}

}  // namespace cleave::planner
