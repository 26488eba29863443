// The simulation executes the steps of all devices in their one global order, which is a possible order of events. It models the executor
// (executor/run/README.md): simulated_clocks.h says when each resource is free, simulated_channels.h what transfers wait for,
// simulated_calls.h what host calls do beside other steps. Here is what a step does, and how often it is simulated.
#include "partitioner/apply/predict.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "partitioner/apply/bursts.h"
#include "partitioner/apply/coalesce.h"
#include "partitioner/apply/copy_overlap.h"
#include "partitioner/apply/schedule_trace.h"
#include "partitioner/apply/schedule_waits.h"
#include "partitioner/apply/simulated_calls.h"
#include "partitioner/apply/simulated_channels.h"
#include "partitioner/apply/simulated_clocks.h"
#include "partitioner/apply/simulated_producers.h"
#include "partitioner/apply/step_costs.h"

namespace cleave::planner {
namespace {

constexpr int kMostIterations = 5;   ///< iterations to simulate of each loop
constexpr int kRoundsOfWorkers = 3;  ///< and of loops whose data are made ahead, further ones in which each worker makes this many trips
constexpr double kMostSteps = 4e6;   ///< steps to simulate in total, if fewer iterations can achieve that

/// The number of iterations to simulate that the budget allows. Steps in nested loops are simulated this number to the power of their
/// depth.
int choose_iterations(const Program& program) {
  const Graph& graph = *program.graph;
  std::vector<double> steps;  // by number of loops around them
  IdVector<RegionId, std::size_t> loops(graph.regions.size(), 0);
  for (std::size_t i = 1; i < graph.regions.size(); ++i) {
    const Region& region = graph.regions[RegionId(i)];
    const bool repeats = region.kind == RegionKind::for_body || region.kind == RegionKind::while_condition;
    loops[RegionId(i)] = loops[region.parent] + (repeats ? 1 : 0);
  }
  for (const DeviceProgram& device : program.devices) {
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
        bursts_(bursts),
        times_(times),
        devices_(program.devices.size()),
        copy_overlaps_(overlaps_of(program)),
        clocks_(devices_, recorder, path),
        channels_(program, costed, times, clocks_, bursts != nullptr),
        workers_(static_cast<std::size_t>(std::max(1, program.workers))),
        calls_(program, clocks_, workers_),
        producers_(program, times, clocks_, workers_),
        executions_(bursts ? graph_.nodes.size() : 0, 0) {}

  Schedule run() {
    iterations_ = choose_iterations(program_);
    for (const Overlaps& device : copy_overlaps_)
      for (const auto& [node, each] : device)
        for (const ChannelId channel : each.coming) channels_.work_on(channel);
    clocks_.work(0, costed_.problem.nodes.back().host_seconds, NodeId());
    schedule_.waiting.emplace_back();
    push_block(ShortVector<BlockIndex, 2>(devices_));
    while (!tasks_.empty()) advance();
    schedule_.seconds = clocks_.end().seconds;
    for (std::size_t clock = 0; clock < clocks_.state().busy.size(); ++clock) {
      if (is_driver(clock)) continue;
      double& busiest = schedule_.busy_seconds[static_cast<std::size_t>(resource_of(clock))];
      busiest = std::max(busiest, clocks_.state().busy[clock]);
    }
    schedule_.worker_seconds = clocks_.state().workers;
    schedule_.waiting[0].seconds = schedule_.seconds;
    schedule_.waiting[0].wait_seconds = clocks_.state().waited;
    schedule_.transfers = transfer_times(program_, transfers_, times_.copies, channels_.waits());
    schedule_.waiting = worst_waits(program_, costed_, channels_.waits(), std::move(schedule_.waiting));
    return std::move(schedule_);
  }
  [[nodiscard]] Moment end() const { return clocks_.end(); }
  [[nodiscard]] ChannelUse use() const {
    double busiest = clocks_.state().workers / static_cast<double>(workers_.size());
    for (std::size_t clock = 0; clock < clocks_.state().busy.size(); ++clock) busiest = std::max(busiest, clocks_.state().busy[clock]);
    return {end().seconds, busiest, channels_.full_seconds(), channels_.depth_in_use()};
  }

 private:
  struct Task {
    enum What : std::uint8_t { block, loop, arm, arm_end, decide, close_loop } what = block;
    ShortVector<const Block*, 2> blocks;  ///< for `block`: by device
    ShortVector<std::size_t, 2> next;
    ShortVector<const Step*, 2> steps;  ///< for all others: the control step by device; null: the device has none
    int iteration = 0;                  ///< for `loop`: iterations done; for `arm` and `arm_end`: which arm
    bool whole = false;                 ///< for `arm` and `arm_end`: the arm is taken for certain, not weighted by its probability
    ClockState begin, start;  ///< for `loop`: the states before its last period and before the loop; for `arm_end`: before the arm

    explicit Task(std::size_t devices) : blocks(devices), next(devices), steps(devices), begin(devices), start(devices) {}
  };
  static constexpr std::size_t kNoDevice = static_cast<std::size_t>(-1);

  [[nodiscard]] static std::vector<Overlaps> overlaps_of(const Program& program) {
    std::vector<Overlaps> overlaps;
    for (std::size_t d = 0; d < program.devices.size(); ++d) overlaps.push_back(planned_copy_overlaps(program, DeviceId(d)));
    return overlaps;
  }
  /// The first device from `first` on that has a step of the control node; kNoDevice: none has.
  [[nodiscard]] std::size_t walker(const Task& task, std::size_t first) const {
    for (std::size_t d = first; d < devices_; ++d)
      if (task.steps[d]) return d;
    return kNoDevice;
  }
  [[nodiscard]] NodeId control_of(const Task& task) const { return task.steps[walker(task, 0)]->node; }
  [[nodiscard]] const Node& node_of(const Task& task) const { return graph_.nodes[control_of(task)]; }

  /// Adds the loop or arm of `task`, which began at `start`, to the trace of the frame around it.
  void leave(const Task& task, const ClockState& start) {
    if (recorder_) clocks_.add_frame(control_of(task), recorder_->leave(), start);
  }

  void push_block(const ShortVector<BlockIndex, 2>& index) {
    Task task(devices_);
    for (std::size_t d = 0; d < devices_; ++d) {
      const auto& blocks = program_.devices[DeviceId(d)].blocks;
      if (index[d] != kNoBlock) task.blocks[d] = &blocks[static_cast<std::size_t>(index[d])];
    }
    tasks_.push_back(std::move(task));
  }
  void push_block(const Task& control, std::size_t k) {
    ShortVector<BlockIndex, 2> index(devices_);
    for (std::size_t d = 0; d < devices_; ++d) index[d] = control.steps[d] ? control.steps[d]->blocks[k] : kNoBlock;
    push_block(index);
  }
  void push(Task task, Task::What what) {
    task.what = what;
    tasks_.push_back(std::move(task));
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
        end.begin = clocks_.state();
        if (recorder_) recorder_->enter(control_of(done), static_cast<std::size_t>(done.iteration));
        push(end, Task::arm_end);
        push_block(done, static_cast<std::size_t>(done.iteration));
        break;
      }
      case Task::arm_end: {
        const double then = node_of(done).expected;
        if (!done.whole) clocks_.repeat_since(done.begin, (done.iteration == 0 ? then : 1 - then) - 1, false);
        leave(done, done.begin);
        break;
      }
      case Task::decide: wait_for_decision(done); break;
      default: close_loop(done);
    }
  }

  void step_block() {
    Task& task = tasks_.back();
    const auto next = [&](std::size_t d) -> const Step* {
      return task.blocks[d] && task.next[d] < task.blocks[d]->steps.size() ? &task.blocks[d]->steps[task.next[d]] : nullptr;
    };
    const Step* first = nullptr;
    std::size_t device = kNoDevice;
    for (std::size_t d = 0; d < devices_; ++d) {
      const Step* const step = next(d);
      if (!step || (first && first->order <= step->order)) continue;
      first = step;
      device = d;
    }
    if (!first) {
      for (std::size_t d = 1; d < devices_; ++d)
        if (task.blocks[d]) channels_.read_rest(task.blocks[d]->region, d);
      if (task.blocks[0]) calls_.settle_region(task.blocks[0]->region);
      tasks_.pop_back();
      return;
    }
    const Step& step = *first;
    if (is_control(graph_.nodes[step.node].kind) && step.kind != StepKind::send && step.kind != StepKind::receive)
      return enter_all(task, step.order);
    ++task.next[device];
    switch (step.kind) {
      case StepKind::send: return send(step, device);
      case StepKind::receive: return channels_.receive(step, device);
      default: return compute(step.node, device);
    }
  }

  /// Enters a loop or branch on all devices that have a step of it.
  void enter_all(Task& block, std::int64_t order) {
    Task control(devices_);
    for (std::size_t d = 0; d < devices_; ++d) {
      if (!block.blocks[d] || block.next[d] == block.blocks[d]->steps.size()) continue;
      const Step& step = block.blocks[d]->steps[block.next[d]];
      if (step.order != order) continue;
      control.steps[d] = &step;
      ++block.next[d];
    }
    enter(std::move(control));
  }

  void compute(NodeId node, std::size_t device) {
    const double seconds = times_.steps[device][node];
    const OpDef* op = graph_.nodes[node].op;
    if (device == 0 && op) {
      if (producers_.takes(node)) return producers_.take(node);
      calls_.settle_node(node);
      if (runs_beside(program_, node)) return calls_.begin(node, seconds);
    }
    if (device != 0 && op && op->keeps_bytes && seconds == 0) return channels_.rename(graph_.nodes[node], device);
    static const CopyOverlap kNothing;
    const auto found = copy_overlaps_[device].find(node);
    const CopyOverlap& beside = found == copy_overlaps_[device].end() ? kNothing : found->second;
    for (const ChannelId channel : beside.coming) channels_.wait_for_parts(channel, device, seconds, node);
    if (device != 0)
      for (ValueId input : graph_.nodes[node].inputs) channels_.read(input, device);
    const Moment begin = clocks_.now_on(device);
    clocks_.work(device, seconds, node);
    for (const ChannelId channel : beside.leaving) channels_.made_in_parts(channel, device, begin, seconds, node);
    if (device != 0) {
      for (const ValueId result : graph_.nodes[node].results) channels_.made(result, device);
      return;
    }
    for (const ChannelId channel : beside.coming) channels_.give_back(channel);
  }

  void send(const Step& step, std::size_t device) {
    if (device == 0 && !follows(program_, step.channel))
      for (const ChannelId channel : travelling_with(program_, step.channel)) calls_.settle(program_.channels[channel].value);
    channels_.send(step, device);
  }

  /// Simulates the wait for a decision. If an accelerator decides itself, it need not wait.
  void wait_for_decision(const Task& task) {
    if (!task.steps[0]) return;
    calls_.settle_decision(control_of(task));
    double& waited = channels_.waits().decision[control_of(task)];
    waited = 0;
    const Moment decided = clocks_.now(0);
    for (std::size_t d = 1; d < devices_; ++d) {
      if (!task.steps[d]) continue;
      clocks_.catch_up(driver_of(d), decided);
      clocks_.wait(d, decided, waited);
    }
  }

  /// Simulates the work of deciding a branch, or one of `parts` iterations of a loop, on the device that decides.
  void decide(const Task& task, double parts) {
    const NodeId control = control_of(task);
    const PlacementProblem::Node& costs = costed_.problem.nodes[control.index];
    if (parts > 0) clocks_.work(walker(task, 0), (task.steps[0] ? costs.host_seconds : costs.accelerator_seconds) / parts, control);
  }

  void enter(Task task) {
    const Step* const host = task.steps[0];
    if (task.steps[walker(task, 0)]->kind == StepKind::branch) {
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
    for (std::size_t d = 1; d < devices_; ++d)
      if (task.steps[d])
        for (NodeId carried : task.steps[d]->carried) channels_.read(graph_.nodes[carried].inputs[0], d);
    if (host)
      for (NodeId carried : host->carried) calls_.settle(graph_.nodes[carried].inputs[0]);
    if (host) producers_.enter(control_of(task), node_of(task).expected);
    task.start = clocks_.state();
    if (walker(task, 1) != kNoDevice) {
      loops_.push_back(schedule_.waiting.size());
      schedule_.waiting.push_back({control_of(task), 0, 0, {}, {}});
    }
    if (recorder_) recorder_->enter(control_of(task), 0);
    push(std::move(task), Task::loop);
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
    const int turns = iterations_ == kMostIterations ? producers_.period(control_of(task)) : 1;
    const int most = bursts_ ? bursts_->trips[control_of(task)] : iterations_ + kRoundsOfWorkers * (turns - 1);
    const int period = bursts_ ? bursts_->period[control_of(task)] : turns;
    const int count = std::clamp(static_cast<int>(std::min(trips, 1e6)), 1, most);
    if (task.iteration < count) {
      if (task.iteration == 0 || task.iteration <= count - period) task.begin = clocks_.state();
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
    note_pace(task, std::min(period, count));
    clocks_.repeat_since(task.begin, (trips - count) / std::min(period, count), count > 2);
    if (recorder_) recorder_->pause();
    const Task done = task;
    tasks_.pop_back();
    push(done, Task::close_loop);
    if (node.kind == NodeKind::while_loop) {
      push(done, Task::decide);
      push_block(done, 0);
    }
  }

  /// Records the pace of a loop whose data are made ahead, by its last `period` iterations.
  void note_pace(const Task& task, int period) {
    const std::optional<double> seconds = producers_.trip_seconds(control_of(task));
    if (!seconds) return;
    double elapsed = 0;
    for (std::size_t device = 0; device < devices_; ++device)
      elapsed = std::max(elapsed, clocks_.now_on(device).seconds - task.begin.now[clock_of(device)].seconds);
    const Production now{control_of(task), *seconds, elapsed / period};
    const auto found = std::find_if(schedule_.productions.begin(), schedule_.productions.end(),
                                    [&](const Production& each) { return each.loop == now.loop; });
    if (found == schedule_.productions.end()) return schedule_.productions.push_back(now);
    *found = now;
  }

  void close_loop(const Task& task) {
    if (recorder_) recorder_->resume();
    leave(task, task.start);
    const std::size_t accelerator = walker(task, 1);
    if (accelerator == kNoDevice) return;
    Waiting& waiting = schedule_.waiting[loops_.back()];
    loops_.pop_back();
    waiting.seconds = clocks_.now_on(accelerator).seconds - task.start.now[clock_of(accelerator)].seconds;
    waiting.wait_seconds = clocks_.state().waited - task.start.waited;
  }

  const Program& program_;
  const Graph& graph_;
  const Transfers& transfers_;
  const CostedProblem& costed_;
  ScheduleRecorder* recorder_;  ///< may be null
  const Bursts* bursts_;        ///< null: loops are extrapolated from their first iterations, and arms are weighted by their probability
  const StepTimes& times_;
  const std::size_t devices_;
  const std::vector<Overlaps> copy_overlaps_;  ///< by device
  SimulatedClocks clocks_;
  SimulatedChannels channels_;
  std::vector<Moment> workers_;  ///< the time from which each worker is free
  SimulatedCalls calls_;
  SimulatedProducers producers_;
  IdVector<NodeId, int> executions_;  ///< with bursts: by branch
  std::vector<Task> tasks_;
  std::vector<std::size_t> loops_;  ///< current loops that the accelerator walks, as indices into `waiting`
  int iterations_ = 1;
  Schedule schedule_;
};

}  // namespace

StepTimes step_times(const Program& program, const CostedProblem& costed) {
  StepTimes times;
  for (std::size_t d = 0; d < program.devices.size(); ++d) times.steps.push_back(step_seconds(program, DeviceId(d), costed));
  times.copies = channel_seconds(program, costed);
  return times;
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
