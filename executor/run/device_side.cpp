#include "executor/run/device_side.h"

#include <algorithm>
#include <cstring>

#include "executor/check/verify_node.h"
#include "executor/memory/segments.h"
#include "graph/base/exceptions.h"
#include "graph/states.h"

namespace cleave::runtime {
namespace {

constexpr std::size_t kShortestSegment = 3;  ///< operations and copies; fewer gain nothing from being launched as one

}  // namespace

DeviceSide::DeviceSide(Prepared& prepared, DeviceId id)
    : prepared_(prepared),
      graph_(prepared.graph()),
      id_(id),
      device_(*prepared.devices[id]),
      fusion_(prepared.fusions[id]),
      plan_(prepared.plans[id]),
      kernels_(graph_.nodes.size()),
      work_(graph_.nodes.size()),
      members_(graph_.nodes.size()),
      orders_(graph_.nodes.size()),
      hazards_(watch_transfers(prepared, id)),
      measured_(prepared, id, track_) {}

Hazards DeviceSide::watch_transfers(const Prepared& prepared, DeviceId id) {
  std::vector<StorageIndex> transferred;
  for (const Channel& channel : prepared.program->channels) {
    StorageIndex storage = prepared.plans[id].storage_of[channel.value];
    if ((channel.from == id || channel.to == id) && storage != kNoStorage) transferred.push_back(storage);
  }
  return {prepared.plans[id], transferred};
}

Result<std::unique_ptr<DeviceSide>> DeviceSide::create(Prepared& prepared, DeviceId id) {
  std::unique_ptr<DeviceSide> side(new DeviceSide(prepared, id));
  if (Status status = side->device_.allocate(side->plan_.arena_bytes); !status) return status.error();
  if (Status status = side->prepare_steps(); !status) return status.error();
  if (Status status = side->prepare_travelling(); !status) return status.error();
  side->prepare_segments();
  return side;
}

/// Kernels, and the constants that lie here for good.
Status DeviceSide::prepare_steps() {
  std::set<NodeId> changing;
  for (const GraphState& state : states_of(graph_))
    if (!state.fixed()) changing.insert(state.leaf);
  for (const Block& block : prepared_.program->devices[id_].blocks) {
    for (const Step& step : block.steps) {
      const Node& node = graph_.nodes[step.node];
      if (step.kind != StepKind::compute) continue;
      orders_[step.node] = step.order;
      const bool leaf = node.kind == NodeKind::input || node.kind == NodeKind::parameter;
      if (node.kind == NodeKind::constant || (leaf && !changing.contains(step.node))) device_.keep(plan_.range(node.results[0]));
      if (node.kind == NodeKind::constant) {
        if (Status status = upload(step.node, node.attributes.get<Array>("value")); !status) return status;
      }
      if (leaf) leaves_.push_back(step.node);
      if (node.kind != NodeKind::operation) continue;
      if (Status status = prepare_kernel(step.node); !status) return status;
    }
  }
  for (const GraphState& state : states_of(graph_))
    if (std::find(leaves_.begin(), leaves_.end(), state.leaf) != leaves_.end())
      states_.push_back({storage(state.value), storage(state.next)});
  return {};
}

Status DeviceSide::prepare_travelling() {
  const Program& program = *prepared_.program;
  travelling_.resize(program.channels.size());
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    const ChannelId id(c);
    const Channel& channel = program.channels[id];
    if ((channel.from != id_ && channel.to != id_) || follows(program, id)) continue;
    Travelling& travelling = travelling_[id];
    std::vector<Piece> pieces;
    for (const ChannelId each : travelling_with(program, id)) {
      const StorageIndex at = storage(program.channels[each].value);
      travelling.storages.push_back(at);
      travelling.seconds += prepared_.costs.channel_seconds[each];
      pieces.push_back({range(at), program.channels[each].offset});
    }
    if (!channel.packet) continue;
    Result<PiecesId> prepared = device_.prepare_pieces(std::move(pieces), channel.to == id_ ? Stream::to_device : Stream::to_host);
    if (!prepared) return at_node(graph_, graph_.values[channel.value].producer, prepared.error());
    travelling.pieces = *prepared;
  }
  return {};
}

/// The kernel of one operation, or of the whole group of which it is the last; none of what runs with a later operation.
Status DeviceSide::prepare_kernel(NodeId id) {
  const Node& node = graph_.nodes[id];
  const FusionGroup* group = fusion_.group(id);
  if (group && id != group->nodes.back()) return {};
  KernelRequest request{id, node.op, &prepared_.attributes(id), {}, {}, {}, {}, {}, {}};
  if (group) {
    request = request_for(graph_, *group);
  } else {
    for (ValueId input : node.inputs) request.input_types.push_back(graph_.values[input].type);
    for (ValueId result : node.results) request.result_types.push_back(graph_.values[result].type);
  }
  Work& work = work_[id];
  for (ValueId input : group ? group->inputs : node.inputs) {
    request.inputs.push_back(plan_.range(input));
    work.reads.push_back(storage(input));
  }
  for (ValueId result : group ? group->results : node.results) {
    request.results.push_back(plan_.range(result));
    work.writes.push_back(storage(result));
  }
  work.seconds = prepared_.costs.accelerator_seconds[id];
  Result<KernelId> kernel = device_.prepare(std::move(request));
  if (!kernel) return at_node(graph_, id, kernel.error());
  kernels_[id] = *kernel;
  return {};
}

/// Pieces of the step lists that the device takes as one. Each waits for all that any of its steps must wait for: since pieces end at
/// transfers, that is what its first steps wait for anyway.
void DeviceSide::prepare_segments() {
  const auto joins = [this](NodeId node) { return !kernels_[node].valid() || device_.joins(kernels_[node]); };
  const std::vector<Segment> found = find_segments(*prepared_.program, id_, plan_, kShortestSegment, joins);
  for (const Segment& segment : found) {
    PreparedSegment prepared;
    std::vector<DeviceStep> steps;
    std::vector<NodeId> nodes = segment.nodes;
    std::erase_if(nodes, [this](NodeId node) { return !kernels_[node].valid(); });  // they run with a later one
    if (nodes.empty() || nodes.size() + (segment.moves ? segment.moves->size() : 0) < kShortestSegment) continue;
    for (NodeId node : nodes) {
      members_[node] = {static_cast<std::int32_t>(segments_.size()), steps.empty()};
      steps.push_back({kernels_[node], {}, {}, node, orders_[node]});
      const Work& work = work_[node];
      prepared.work.reads.insert(prepared.work.reads.end(), work.reads.begin(), work.reads.end());
      prepared.work.writes.insert(prepared.work.writes.end(), work.writes.begin(), work.writes.end());
      prepared.work.seconds += work.seconds;
    }
    prepared.nodes = std::make_shared<const std::vector<NodeId>>(std::move(nodes));
    if (segment.moves) prepared_moves_.insert(segment.moves);
    for (const Move& move : segment.moves ? *segment.moves : std::vector<Move>()) {
      steps.push_back({{}, range(move.to), range(move.from), {}, 0});
      prepared.work.reads.push_back(move.from);
      prepared.work.writes.push_back(move.to);
    }
    prepared.id = device_.prepare_segment(std::move(steps));
    segments_.push_back(std::move(prepared));
  }
}

/// The segment that a node is launched with; null: it is launched by itself.
const DeviceSide::PreparedSegment* DeviceSide::segment_of(NodeId node) const {
  const std::int32_t segment = members_[node].segment;
  return verify_ || segment < 0 ? nullptr : &segments_[static_cast<std::size_t>(segment)];
}

Status DeviceSide::upload(NodeId node, const Array& array) {
  const ValueId value = graph_.nodes[node].results[0];
  return device_.upload(plan_.range(value), array.bytes(), prepared_.caller_memory.source(value) != nullptr);
}

Status DeviceSide::make_room_to_fetch() {
  if (fetched_) return {};
  std::int64_t largest = 0;
  for (const MemoryPlan::Storage& each : plan_.storages) largest = std::max(largest, each.range.bytes);
  Result<std::byte*> staging = device_.allocate_staging(largest);
  if (!staging) return staging.error();
  fetched_ = *staging;
  return {};
}

Status DeviceSide::begin(RunState& run, const RunOptions& options, const std::map<NodeId, Array>& leaves,
                         const std::set<NodeId>& resident) {
  run_ = &run;
  verify_ = options.verify;
  on_verify_ = options.on_verify;
  progress_ = options.progress;
  driver_ = 0;
  clock_ = {};
  waited_ = {};
  hazards_.reset();
  received_ = sent_ = {};
  host_reached_ = {};
  track_.begin(options);
  measured_.reset();
  if (verify_)
    if (Status room = make_room_to_fetch(); !room) return room;
  if (Status status = device_.begin_run(run); !status) return status;
  for (NodeId leaf : leaves_) {
    if (resident.contains(leaf)) continue;
    if (Status status = detail::guard_memory([&] { return upload(leaf, leaves.at(leaf)); }); !status) {
      device_.end_run();
      return status;
    }
  }
  return {};
}

void DeviceSide::drive(RunState::Clock::time_point start) {
  const bool measures = track_.on() && !device_.simulated();
  const Status begun = measures ? detail::guard_memory([&] { return measured_.begin(start); }) : Status();
  if (begun) {
    walk(*prepared_.program, id_, plan_, *run_, *this, progress_);
  } else {
    run_->end(begun.error());
  }
  for (int s = 0; s < kStreamCount; ++s) {
    Status status = detail::guard_memory([&] { return device_.synchronize(device_.record(static_cast<Stream>(s))); });
    if (!status && !run_->failed()) run_->end(status.error());
  }
  if (const Status taken = detail::guard_memory([&] { return measured_.take(true); }); !taken && !run_->failed()) run_->end(taken.error());
  if (!keeps_states()) device_.end_run();
}

Status DeviceSide::finish(bool went_well) {
  Status status = detail::guard_memory([&]() -> Status {
    if (!went_well) return {};
    for (const Move& move : states_)
      if (Status copied = move.to == move.from ? Status() : device_.copy_inside(range(move.to), range(move.from), {}); !copied)
        return copied;
    return device_.synchronize(device_.record(Stream::compute));
  });
  device_.end_run();
  return status;
}

Result<Array> DeviceSide::read(ValueId value) {
  if (Status room = make_room_to_fetch(); !room) return room.error();
  Result<Array> array = Array::allocate(graph_.values[value].type);
  if (!array) return array;
  RunState run;
  if (Status status = device_.begin_run(run); !status) return status.error();
  const Status copied = detail::guard_memory([&]() -> Status {
    if (Status status = device_.copy_to_host(fetched_, range(storage(value)), {}); !status) return status;
    return device_.synchronize(device_.record(Stream::to_host));
  });
  device_.end_run();
  if (!copied) return copied.error();
  if (const auto bytes = static_cast<std::size_t>(array->type().bytes()); bytes > 0) std::memcpy(array->mutable_bytes(), fetched_, bytes);
  return array;
}

double DeviceSide::now() const {
  return std::max({driver_, clock_[0], clock_[1], clock_[2]});
}

bool DeviceSide::fail(const Origin& here, Error error) {
  run_->fail(here, std::move(error));
  return false;
}

bool DeviceSide::wait_for(Stream stream, const WorkView& work, double& start, const Origin& here) {
  waits_.clear();
  for (StorageIndex s : work.reads) hazards_.before(stream, s, false, waits_);
  for (StorageIndex s : work.writes) hazards_.before(stream, s, true, waits_);
  for (const Point& point : waits_) {
    start = std::max(start, point.time);
    std::uint64_t& waited = waited_[static_cast<std::size_t>(stream)][static_cast<std::size_t>(point.event.stream)];
    if (waited >= point.event.sequence) continue;
    waited = point.event.sequence;
    if (Status status = device_.wait(stream, point.event); !status) return fail(here, status.error());
  }
  return true;
}

template <class F>
std::optional<Point> DeviceSide::put(Stream stream, const WorkView& work, const MeasuredTrack::Note& note, const Origin& here,
                                     F&& enqueue) {
  double& clock = clock_[static_cast<std::size_t>(stream)];
  double start = std::max(clock, driver_);
  if (!wait_for(stream, work, start, here)) return std::nullopt;
  Status status = measured_.expect(stream, note);
  if (status) status = enqueue();
  if (!status) {
    fail(here, status.error());
    return std::nullopt;
  }
  begun_ = start;
  clock = start + work.seconds;
  Point point{device_.record(stream), clock};
  for (StorageIndex s : work.reads) hazards_.after(stream, s, false, point);
  for (StorageIndex s : work.writes) hazards_.after(stream, s, true, point);
  return point;
}

template <class F>
bool DeviceSide::issue(const WorkView& work, const Origin& here, F&& enqueue, const MeasuredTrack::Nodes& together) {
  constexpr auto kWhat = TimelineEvent::What::compute;
  const std::optional<Point> point =
      put(Stream::compute, work, {kWhat, together ? together->back() : here.node, {}, together}, here, enqueue);
  if (point && work.seconds > 0 && device_.simulated()) track_.add(kWhat, id_, here.node, begun_, point->time);
  return point.has_value();
}

bool DeviceSide::compute(const Step& step, const Origin& here, std::int64_t trip) {
  const Node& node = graph_.nodes[step.node];
  if (node.kind == NodeKind::operation) return launch(node, here);
  if (node.kind != NodeKind::counter) return true;  // constants and leaves are there
  StorageIndex to = storage(node.results[0]);
  const WorkView work{{}, {&to, 1}, prepared_.costs.accelerator_seconds[step.node]};
  return issue(work, here, [&] { return device_.fill(range(to), static_cast<std::int32_t>(trip), here); });
}

bool DeviceSide::launch(const Node& node, const Origin& here) {
  if (const PreparedSegment* segment = segment_of(here.node)) {
    return !members_[here.node].first ||
           issue(
               segment->work, here, [&] { return device_.launch_segment(segment->id, here); }, segment->nodes);
  }
  if (!kernels_[here.node].valid()) return true;  // it runs with a later one
  auto enqueue = [&] { return device_.launch(kernels_[here.node], here); };
  if (!verify_ || graph_.purity(here.node) != Purity::pure) {
    return issue(work_[here.node], here, enqueue);
  }
  const FusionGroup* group = fusion_.group(here.node);
  std::optional<std::vector<Array>> inputs = fetch(group ? group->inputs : node.inputs, here);
  if (!inputs || !issue(work_[here.node], here, enqueue)) return false;
  std::optional<std::vector<Array>> results = fetch(group ? group->results : node.results, here);
  if (!results) return false;
  RunState::Executing executing(*run_);
  if (Status told = announce_check(graph_, here.node, on_verify_); !told) return fail(here, told.error());
  std::optional<Error> error =
      group ? check_against_meanings(prepared_.graph(), prepared_.bound, *group, *inputs, *results, prepared_.precision)
            : check_against_meaning(prepared_.graph(), prepared_.bound, here.node, *inputs, *results, nullptr, prepared_.precision);
  return error ? fail(here, std::move(*error)) : true;
}

std::optional<std::vector<Array>> DeviceSide::fetch(const std::vector<ValueId>& values, const Origin& here) {
  std::vector<Array> arrays;
  // The compute stream first: memory that no transfer touches is not watched for hazards.
  Status status = device_.synchronize(device_.record(Stream::compute));
  for (ValueId value : values) {
    Array array(graph_.values[value].type);
    if (status) {
      const StorageIndex from = storage(value);
      std::optional<Point> point =
          put(Stream::to_host, {{&from, 1}, {}, 0}, {}, here, [&] { return device_.copy_to_host(fetched_, range(storage(value)), here); });
      if (!point) return std::nullopt;
      status = device_.synchronize(point->event);
    }
    if (status && array.type().bytes() > 0) std::memcpy(array.mutable_bytes(), fetched_, static_cast<std::size_t>(array.type().bytes()));
    arrays.push_back(std::move(array));
  }
  if (status) return arrays;
  fail(here, status.error());
  return std::nullopt;
}

/// Each value of a packet has its part of the time.
void DeviceSide::note_copies(const Step& step, TransferCount& count, Stream stream) {
  double begin = begun_;
  for (const ChannelId each : travelling_with(*prepared_.program, step.channel)) {
    const ValueId value = prepared_.channel(each).value;
    const std::int64_t bytes = range(storage(value)).bytes;
    const double end = begin + prepared_.costs.channel_seconds[each];
    if (end > begin && device_.simulated())
      track_.add({TimelineEvent::What::transfer, id_, graph_.values[value].producer, begin, end, bytes, lane_of(stream), {}});
    begin = end;
    ++count.count;
    count.bytes += bytes;
  }
}

/// Each part as soon as the host has staged it.
Status DeviceSide::copy_in_parts(const Range& to, const Ring::Slot& slot, const Origin& here, bool& stopped) {
  if (slot.at != slot.data) return device_.copy_to_device(to, slot.at, here);
  for (std::size_t i = 0; i < prepared_.parts(to.bytes); ++i) {
    stopped = !Ring::wait_for_part(*run_, id_, here, slot, i);
    if (stopped) return {};
    const Range part = prepared_.part(i, to.bytes);
    if (Status status = device_.copy_to_device({to.offset + part.offset, part.bytes}, slot.at + part.offset, here); !status) return status;
  }
  return {};
}

/// The host fetches each part as soon as it is there.
Status DeviceSide::copy_in_parts(Ring::Slot& slot, const Range& from, const Origin& here) {
  for (std::size_t i = 0; i < prepared_.parts(from.bytes); ++i) {
    if (i > 0) slot.arrived.push_back(device_.record(Stream::to_host));
    const Range part = prepared_.part(i, from.bytes);
    if (Status status = device_.copy_to_host(slot.data + part.offset, {from.offset + part.offset, part.bytes}, here); !status)
      return status;
  }
  return {};
}

/// What is first of a packet goes for all of it.
bool DeviceSide::receive(const Step& step, const Origin& here) {
  if (follows(*prepared_.program, step.channel)) return true;
  if (std::optional<Exchange>& exchange = prepared_.exchanges[step.channel]) return take(*exchange, step, here);
  Ring& ring = prepared_.ring(step.channel);
  const RunState::Clock::time_point asked = measured_.now();
  Ring::Slot* slot = ring.front(*run_, id_, here);
  if (!slot) return false;
  measured_.waited(here.node, asked);
  double before = std::max(driver_, clock_[0]);
  driver_ = std::max(driver_, slot->ready.time);
  if (driver_ > before && device_.simulated()) track_.add(TimelineEvent::What::wait, id_, here.node, before, driver_);
  const Travelling& all = travelling_[step.channel];
  bool stopped = false;
  std::optional<Point> point = put(Stream::to_device, {{}, all.storages, all.seconds}, crossed(step), here, [&]() -> Status {
    if (all.pieces) return device_.copy_to_device(all.pieces, slot->at, here);
    return copy_in_parts(range(all.storages[0]), *slot, here, stopped);
  });
  if (!point || stopped) return false;
  slot->free = *point;
  ring.release(*run_);
  note_copies(step, received_, Stream::to_device);
  return true;
}

bool DeviceSide::take(Exchange& exchange, const Step& step, const Origin& here) {
  const std::uint64_t number = exchange.next_of_device();
  const Travelling& all = travelling_[step.channel];
  const auto enqueue = [&] {
    const Delivery delivery{exchange.slot(number), exchange.mailbox(), number, number};
    return all.pieces ? device_.take(all.pieces, delivery, here) : device_.take(crossing(step), delivery, here);
  };
  if (!put(Stream::compute, {{}, all.storages, 0}, crossed(step), here, enqueue)) return false;
  host_reached_ = exchange.of_host(here.position);
  note_copies(step, received_, Stream::compute);
  return true;
}

bool DeviceSide::give(Exchange& exchange, const Step& step, const Origin& here) {
  const std::uint64_t number = exchange.next_of_device();
  const Travelling& all = travelling_[step.channel];
  // What the compute stream has taken since was sent behind the place where the host took the slot's last value: it is free by then.
  const bool free = exchange.place(number) < host_reached_;
  exchange.place(number) = exchange.of_host(here.position);
  const auto enqueue = [&] {
    const Delivery delivery{exchange.slot(number), exchange.mailbox(), number, free ? 0 : exchange.before(number)};
    return all.pieces ? device_.give(all.pieces, delivery, here) : device_.give(crossing(step), delivery, here);
  };
  if (!put(Stream::compute, {all.storages, {}, 0}, crossed(step), here, enqueue)) return false;
  note_copies(step, sent_, Stream::compute);
  return true;
}

/// What a send or receive is on a timeline.
MeasuredTrack::Note DeviceSide::crossed(const Step& step) {
  return {TimelineEvent::What::transfer, step.node, step.channel, {}};
}

/// Where the value of a send or receive lies.
Range DeviceSide::crossing(const Step& step) const {
  return {range(storage(step.value)).offset, graph_.values[step.value].type.bytes()};
}

bool DeviceSide::send(const Step& step, const Origin& here) {
  if (follows(*prepared_.program, step.channel)) return true;
  if (std::optional<Exchange>& exchange = prepared_.exchanges[step.channel]) return give(*exchange, step, here);
  Ring& ring = prepared_.ring(step.channel);
  Ring::Slot* slot = ring.next(*run_, id_, here);
  if (!slot) return false;
  driver_ = std::max(driver_, slot->free.time);
  const Travelling& all = travelling_[step.channel];
  const bool at_root = prepared_.channel(step.channel).region == Graph::kRoot;  // elsewhere it may be overtaken by a later trip
  const Array* given = at_root && !all.pieces ? prepared_.caller_memory.target(step.value) : nullptr;
  std::byte* to = given ? writable(*given) : slot->data;
  slot->arrived.clear();
  std::optional<Point> point = put(Stream::to_host, {all.storages, {}, all.seconds}, crossed(step), here, [&]() -> Status {
    if (all.pieces) return device_.copy_to_host(to, all.pieces, here);
    if (given) return device_.copy_to_host(to, range(all.storages[0]), here);
    return copy_in_parts(*slot, range(all.storages[0]), here);
  });
  if (!point) return false;
  slot->ready = *point;
  slot->at = to;
  ring.publish(*run_);
  note_copies(step, sent_, Stream::to_host);
  return true;
}

bool DeviceSide::move(const std::vector<Move>& moves, const Origin& here) {
  if (!verify_ && prepared_moves_.contains(&moves)) return true;
  for (const Move& m : moves) {
    if (!put(Stream::compute, {{&m.from, 1}, {&m.to, 1}, 0}, {}, here,
             [&] { return device_.copy_inside(range(m.to), range(m.from), here); }))
      return false;
  }
  return true;
}

bool DeviceSide::discard(const std::vector<StorageIndex>& dead, const Origin& here) {
  for (StorageIndex s : dead) {
    if (hazards_.watched(s)) continue;  // a copy may still be reading it, and a hint is not worth a wait
    if (Status status = device_.discard(range(s), here); !status) return fail(here, status.error());
  }
  return true;
}

std::optional<std::int64_t> DeviceSide::decide(const Step&, ValueId, const Origin& here) {
  std::optional<ControlStream::Decision> decision = prepared_.controls[id_].take(*run_, id_, here);
  if (!decision) return std::nullopt;
  driver_ = std::max(driver_, decision->time);
  return decision->value;
}

}  // namespace cleave::runtime
