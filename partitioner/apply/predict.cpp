// The simulation executes the steps of all devices in their one global order, which is a possible order of events. It models the executor
// (executor/run/README.md): simulated_clocks.h says when each resource is free, simulated_channels.h what transfers wait for,
// simulated_calls.h what host calls do beside other steps. Here is what a step does, and how often it is simulated.
#include "partitioner/apply/predict.h"

#include <algorithm>
#include <array>
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
        copy_overlaps_{planned_copy_overlaps(program, kHost), planned_copy_overlaps(program, kAccelerator)},
        clocks_(recorder, path),
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
    push_block(0, 0);
    while (!tasks_.empty()) advance();
    schedule_.seconds = clocks_.end().seconds;
    schedule_.busy_seconds = clocks_.state().busy;
    schedule_.worker_seconds = clocks_.state().workers;
    schedule_.waiting[0].seconds = schedule_.seconds;
    schedule_.waiting[0].wait_seconds = clocks_.state().waited;
    schedule_.transfers = transfer_times(program_, transfers_, times_.copies, channels_.waits());
    schedule_.waiting = worst_waits(program_, costed_, channels_.waits(), std::move(schedule_.waiting));
    return std::move(schedule_);
  }
  [[nodiscard]] Moment end() const { return clocks_.end(); }
  [[nodiscard]] ChannelUse use() const {
    const std::array<double, kResources>& busy = clocks_.state().busy;
    const double workers = clocks_.state().workers / static_cast<double>(workers_.size());
    const double busiest = std::max(workers, *std::max_element(busy.begin(), busy.end()));
    return {end().seconds, busiest, channels_.full_seconds(), channels_.depth_in_use()};
  }

 private:
  struct Task {
    enum What : std::uint8_t { block, loop, arm, arm_end, decide, close_loop } what = block;
    const Block* blocks[2] = {nullptr, nullptr};  ///< for `block`: those of host and accelerator
    std::size_t next[2] = {0, 0};
    const Step* steps[2] = {nullptr, nullptr};  ///< for all others: the control step on host and on accelerator; one of them may be missing
    int iteration = 0;                          ///< for `loop`: iterations done; for `arm` and `arm_end`: which arm
    bool whole = false;                         ///< for `arm` and `arm_end`: the arm is taken for certain, not weighted by its probability
    ClockState begin, start;  ///< for `loop`: the states before its last period and before the loop; for `arm_end`: before the arm
  };

  static NodeId control_of(const Task& task) { return (task.steps[0] ? task.steps[0] : task.steps[1])->node; }
  [[nodiscard]] const Node& node_of(const Task& task) const { return graph_.nodes[control_of(task)]; }

  /// Adds the loop or arm of `task`, which began at `start`, to the trace of the frame around it.
  void leave(const Task& task, const ClockState& start) {
    if (recorder_) clocks_.add_frame(control_of(task), recorder_->leave(), start);
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
    const Step* next[2] = {nullptr, nullptr};
    for (std::size_t d = 0; d < 2; ++d) {
      if (task.blocks[d] && task.next[d] < task.blocks[d]->steps.size()) next[d] = &task.blocks[d]->steps[task.next[d]];
    }
    if (!next[0] && !next[1]) {
      if (task.blocks[1]) channels_.read_rest(task.blocks[1]->region);
      if (task.blocks[0]) calls_.settle_region(task.blocks[0]->region);
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
      case StepKind::receive: channels_.receive(step, device); break;
      default: enter(device == 0 ? &step : nullptr, both ? next[1] : device == 1 ? &step : nullptr);
    }
  }

  void compute(NodeId node, std::size_t device) {
    const double seconds = times_.steps[device][node];
    const OpDef* op = graph_.nodes[node].op;
    if (device == 0 && op) {
      if (producers_.takes(node)) return producers_.take(node);
      calls_.settle_node(node);
      if (runs_beside(program_, node)) return calls_.begin(node, seconds);
    }
    if (device == 1 && op && op->keeps_bytes && seconds == 0) return channels_.rename(graph_.nodes[node]);
    static const CopyOverlap kNothing;
    const auto found = copy_overlaps_[device].find(node);
    const CopyOverlap& beside = found == copy_overlaps_[device].end() ? kNothing : found->second;
    for (const ChannelId channel : beside.coming) channels_.wait_for_parts(channel, device, seconds, node);
    if (device == 1)
      for (ValueId input : graph_.nodes[node].inputs) channels_.read(input);
    const Moment begin = clocks_.now(device);
    clocks_.work(device, seconds, node);
    for (const ChannelId channel : beside.leaving) channels_.made_in_parts(channel, device, begin, seconds, node);
    if (device == 1) {
      for (const ValueId result : graph_.nodes[node].results) channels_.made(result);
      return;
    }
    for (const ChannelId channel : beside.coming) channels_.give_back(channel);
  }

  void send(const Step& step, std::size_t device) {
    if (device == 0 && !follows(program_, step.channel))
      for (const ChannelId channel : travelling_with(program_, step.channel)) calls_.settle(program_.channels[channel].value);
    channels_.send(step, device);
  }

  /// Simulates the wait for a decision. If the accelerator decides itself, it need not wait.
  void wait_for_decision(const Task& task) {
    if (task.steps[0]) calls_.settle_decision(control_of(task));
    if (!task.steps[0] || !task.steps[1]) return;
    double& waited = channels_.waits().decision[control_of(task)];
    waited = 0;
    const Moment decided = clocks_.now(0);
    clocks_.catch_up(kDriver, decided);
    clocks_.wait(1, decided, waited);
  }

  /// Simulates the work of deciding a branch, or one of `parts` iterations of a loop, on the device that decides.
  void decide(const Task& task, double parts) {
    const NodeId control = control_of(task);
    const PlacementProblem::Node& costs = costed_.problem.nodes[control.index];
    if (parts > 0) clocks_.work(task.steps[0] ? 0 : 1, (task.steps[0] ? costs.host_seconds : costs.accelerator_seconds) / parts, control);
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
      for (NodeId carried : accelerator->carried) channels_.read(graph_.nodes[carried].inputs[0]);
    if (host)
      for (NodeId carried : host->carried) calls_.settle(graph_.nodes[carried].inputs[0]);
    if (host) producers_.enter(control_of(task), node_of(task).expected);
    task.start = clocks_.state();
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
    for (std::size_t device = 0; device < 2; ++device)
      elapsed = std::max(elapsed, clocks_.now(device).seconds - task.begin.now[device].seconds);
    const Production now{control_of(task), *seconds, elapsed / period};
    const auto found = std::find_if(schedule_.productions.begin(), schedule_.productions.end(),
                                    [&](const Production& each) { return each.loop == now.loop; });
    if (found == schedule_.productions.end()) return schedule_.productions.push_back(now);
    *found = now;
  }

  void close_loop(const Task& task) {
    if (recorder_) recorder_->resume();
    leave(task, task.start);
    if (!task.steps[1]) return;
    Waiting& waiting = schedule_.waiting[loops_.back()];
    loops_.pop_back();
    waiting.seconds = clocks_.now(1).seconds - task.start.now[1].seconds;
    waiting.wait_seconds = clocks_.state().waited - task.start.waited;
  }

  const Program& program_;
  const Graph& graph_;
  const Transfers& transfers_;
  const CostedProblem& costed_;
  ScheduleRecorder* recorder_;  ///< may be null
  const Bursts* bursts_;        ///< null: loops are extrapolated from their first iterations, and arms are weighted by their probability
  const StepTimes& times_;
  const std::array<Overlaps, 2> copy_overlaps_;
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
