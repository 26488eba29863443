#include "executor/run/driver/device_driver.h"

#include <algorithm>
#include <utility>

#include "executor/check/verify_node.h"
#include "executor/device/memory_check.h"
#include "executor/device/timestamps.h"
#include "executor/run/driver/launch_by_rows.h"
#include "executor/run/prepare/prepare_device.h"
#include "graph/base/exceptions.h"

namespace cleave::runtime {
namespace {

/// Tracks the storages that transfers access, in all turns.
Hazards transfer_hazards(const Prepared& prepared, DeviceId id) {
  std::vector<StorageIndex> transferred;
  for (const Channel& channel : prepared.program->channels) {
    StorageIndex storage = prepared.plans[id].storage_of[channel.value];
    if ((channel.from != id && channel.to != id) || storage == kNoStorage) continue;
    transferred.push_back(storage);
    for (const DoubleBuffers& double_buffers : prepared.plans[id].double_buffered_loops)
      for (std::int32_t turn = 1; turn < double_buffers.turns; ++turn)
        if (const StorageIndex there = double_buffers.at(storage, turn); there != storage) transferred.push_back(there);
  }
  return {prepared.plans[id], transferred};
}

/// Enqueues the work of a step on the compute stream, or of several steps if they are launched `together`.
template <class F>
bool issue(CommandQueue& queue, const WorkView& work, const Origin& here, F&& enqueue, const MeasuredTrack::Nodes& together = {}) {
  const MeasuredTrack::Note note{TimelineEvent::What::compute, together ? together->back() : here.node, {}, together};
  const std::optional<Point> point = queue.put(Stream::compute, work, note, here, enqueue);
  if (point) queue.show(here.node, queue.clock().last().begin, point->time);
  return point.has_value();
}

}  // namespace

Result<std::unique_ptr<DeviceDriver>> DeviceDriver::create(Prepared& prepared, Transports& transports, DeviceId id) {
  Result<DeviceCommands> commands = prepare_device(prepared, id, transports);
  if (!commands) return commands.error();
  std::unique_ptr<DeviceDriver> driver(new DeviceDriver(prepared, transports, id, *std::move(commands)));
  if (Status room = driver->commands_.alone.empty() ? Status() : driver->contents_.make_room(); !room) return room.error();
  return driver;
}

DeviceDriver::DeviceDriver(Prepared& prepared, Transports& transports, DeviceId id, DeviceCommands commands)
    : prepared_(prepared),
      transports_(transports),
      graph_(prepared.graph()),
      device_(*prepared.devices[id]),
      plan_(prepared.plans[id]),
      commands_(std::move(commands)),
      queue_(id, device_, transfer_hazards(prepared, id), prepared.virtual_time),
      contents_(prepared, commands_, queue_) {}

Status DeviceDriver::begin(RunState& run, const RunOptions& options, const std::map<NodeId, Array>& leaves,
                           const std::set<NodeId>& resident) {
  verify_ = options.verify;
  observes_ = options.observe;
  observation_ = {};
  on_verify_ = options.on_verify;
  progress_ = options.progress;
  queue_.begin(run, options);
  if (verify_)
    if (Status room = contents_.make_room(); !room) return room;
  if (Status status = device_.begin_run(run); !status) return status;
  Status ready = queue_.track().on() && device_.timestamps() ? device_.timestamps()->prepare_to_measure() : Status();
  if (ready) ready = contents_.upload(leaves, resident);
  if (!ready) device_.end_run();
  return ready;
}

void DeviceDriver::drive(RunState::Clock::time_point start) {
  if (const Status measures = queue_.measure(start); measures) {
    walk(*prepared_.program, queue_.id(), plan_, queue_.run(), *this, progress_);
  } else {
    queue_.run().end(measures.error());
  }
  queue_.drain();
  if (!contents_.keeps_states()) device_.end_run();
}

bool DeviceDriver::compute(const Step& step, const Origin& here, std::int64_t trip) {
  const Node& node = graph_.nodes[step.node];
  if (node.kind == NodeKind::operation) return launch(node, here);
  if (node.kind != NodeKind::counter) return true;  // constants and leaves are on the device already
  StorageIndex to = queue_.rotation.at(plan_.storage_of[node.results[0]]);
  const WorkView work{{}, {&to, 1}, prepared_.costs.seconds[queue_.id()][step.node]};
  return issue(queue_, work, here, [&] { return device_.fill(plan_.range(to), static_cast<std::int32_t>(trip), here); });
}

bool DeviceDriver::launch(const Node& node, const Origin& here) {
  const DeviceCommands::Turn& commands = commands_.turn(queue_.rotation.turn);
  const SegmentMember& member = commands.members[here.node];
  if (!verify_ && member.segment >= 0) {
    const LaunchedSegment& segment = commands_.segments[static_cast<std::size_t>(member.segment)];
    const auto enqueue = [&] { return device_.segments()->launch(segment.id, here); };
    return !member.first || issue(queue_, segment.work, here, enqueue, segment.nodes);
  }
  const KernelId kernel = commands.kernels[here.node];
  if (!kernel.valid()) return true;  // the node runs with a later one, or has nothing to do
  if (!commands_.by_rows.empty() && !verify_)
    if (const auto found = commands_.by_rows.find(here.node); found != commands_.by_rows.end())
      return launch_by_rows(queue_, commands, found->second, here);
  if (verify_ && graph_.purity(here.node) == Purity::pure) return verify(node, here);
  return issue(queue_, commands.work[here.node], here, [&] { return device_.launch(kernel, here); });
}

/// Launches an operation or a group, and compares its results with the reference implementations'.
bool DeviceDriver::verify(const Node& node, const Origin& here) {
  const DeviceCommands::Turn& commands = commands_.turn(queue_.rotation.turn);
  const FusionGroup* group = prepared_.fusions[queue_.id()].group(here.node);
  const auto enqueue = [&] { return device_.launch(commands.kernels[here.node], here); };
  std::optional<std::vector<Array>> inputs = contents_.fetch(group ? group->inputs : node.inputs, here);
  if (!inputs || !issue(queue_, commands.work[here.node], here, enqueue)) return false;
  std::optional<std::vector<Array>> results = contents_.fetch(group ? group->results : node.results, here);
  if (!results) return false;
  const RunState::Executing executing(queue_.run(), here.position);
  if (NanSearch* const search = prepared_.nan_search) {
    if (search->looks_at(here.node, group)) search->look(prepared_.bound, here.node, group, *inputs, *results);
    return true;
  }
  if (Status told = announce_check(graph_, here.node, on_verify_); !told) return queue_.fail(here, told.error());
  std::optional<Error> error =
      group ? check_against_references(graph_, prepared_.bound, *group, *inputs, *results, prepared_.precision)
            : check_against_reference(graph_, prepared_.bound, here.node, *inputs, *results, nullptr, prepared_.precision);
  return error ? queue_.fail(here, std::move(*error)) : true;
}

bool DeviceDriver::transfer(const Step& step, const Origin& here) {
  Transport* const transport = transports_.of[step.channel].get();
  return !transport || transport->device_step(queue_, here);
}

bool DeviceDriver::move(const std::vector<Move>& moves, const Origin& here) {
  if (!verify_ && commands_.prepared_moves.contains(&moves)) return true;
  for (const Move& m : moves) {
    const StorageIndex to = queue_.rotation.at(m.to), from = queue_.rotation.at(m.from);
    const auto enqueue = [&] { return device_.copy_inside(plan_.range(to), plan_.range(from), here); };
    if (!queue_.put(Stream::compute, {{&from, 1}, {&to, 1}, 0}, {}, here, enqueue)) return false;
  }
  return true;
}

void DeviceDriver::rotate(const DoubleBuffers& double_buffers, std::int64_t trips) {
  queue_.rotation = {&double_buffers, static_cast<std::int32_t>(trips % double_buffers.turns)};
}

bool DeviceDriver::settle(const DoubleBuffers& double_buffers, const Origin& here) {
  const std::int32_t turn = std::exchange(queue_.rotation, {}).turn;
  return move(double_buffers.home[static_cast<std::size_t>(turn)], here);
}

bool DeviceDriver::discard(const std::vector<StorageIndex>& dead, const Origin& here) {
  MemoryCheck* const check = device_.memory_check();
  if (!check) return true;
  for (const StorageIndex each : dead) {
    const StorageIndex s = queue_.rotation.at(each);
    if (queue_.tracks(s)) continue;  // a copy may still read it, and a hint is not worth a wait
    if (Status status = check->discard(plan_.range(s), here); !status) return queue_.fail(here, status.error());
  }
  return true;
}

std::optional<std::int64_t> DeviceDriver::decide(const Step& step, ValueId value, const Origin& here) {
  if (step.by_itself) return contents_.decision(step.node, value, here);
  std::optional<ControlStream::Decision> decision = prepared_.controls[queue_.id()].take(queue_.run(), queue_.id(), here);
  if (!decision) return std::nullopt;
  queue_.clock().wait_until(decision->time);
  return decision->value;
}

/// False if each node is checked, or if the decisions have to be known.
bool DeviceDriver::runs_whole(const Step& step) const {
  const auto found = commands_.controls.find(step.node);
  return found != commands_.controls.end() && !verify_ && !observes_ && device_.controls()->ready(found->second.id);
}

bool DeviceDriver::run_whole(const Step& step, const Origin& here) {
  const LaunchedControl& control = commands_.controls.at(step.node);
  std::int64_t count = 0;
  if (const std::vector<ValueId>& inputs = graph_.nodes[step.node].inputs; step.kind == StepKind::for_loop && !inputs.empty()) {
    const std::optional<std::int64_t> decided = contents_.decision(step.node, inputs[0], here);
    if (!decided) return false;
    count = *decided;
  }
  return issue(
      queue_, control.work, here, [&] { return device_.controls()->launch(control.id, count, here); }, control.nodes);
}

void DeviceDriver::enter(NodeId control) {
  if (!commands_.alone.contains(control)) return;
  const Node& node = graph_.nodes[control];
  const double trips = node.kind == NodeKind::branch ? 1 : node.expected;  // the trip count that the plan's seconds assume
  VirtualClock& clock = queue_.clock();
  if (trips > 0) clock.occupy(Stream::compute, clock.ready(Stream::compute) + prepared_.costs.seconds[queue_.id()][control] / trips);
}

void DeviceDriver::outcome(NodeId control, std::int64_t value) {
  if (observes_ && commands_.alone.contains(control)) observation_.control(control, static_cast<double>(value));
}

}  // namespace cleave::runtime
