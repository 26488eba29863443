#include "executor/run/driver/device_side.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "executor/check/verify_node.h"
#include "executor/device/memory_check.h"
#include "executor/device/timestamps.h"
#include "graph/base/exceptions.h"

namespace cleave::runtime {

/// The segment that a node is launched with; null: it is launched by itself.
const DeviceSide::PreparedSegment* DeviceSide::segment_of(NodeId node) const {
  const std::int32_t segment = turn().members[node].segment;
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
  observes_ = options.observe;
  observation_ = {};
  on_verify_ = options.on_verify;
  progress_ = options.progress;
  driver_ = 0;
  clock_ = {};
  waited_ = {};
  hazards_.reset();
  double_buffers_ = nullptr;
  turn_ = 0;
  received_ = sent_ = {};
  host_reached_ = {};
  track_.begin(options);
  measured_.reset();
  if (verify_)
    if (Status room = make_room_to_fetch(); !room) return room;
  if (Status status = device_.begin_run(run); !status) return status;
  if (Status ready = track_.on() && device_.timestamps() ? device_.timestamps()->prepare_to_measure() : Status(); !ready) {
    device_.end_run();
    return ready;
  }
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
  const bool measures = track_.on() && !prepared_.virtual_time;
  const Status begun = measures ? detail::guard_memory([&] { return measured_.begin(start); }) : Status();
  if (begun) {
    walk(*prepared_.program, id_, plan_, *run_, *this, progress_);
  } else {
    run_->end(begun.error());
  }
  for (int s = 0; s < kStreamCount; ++s) {
    Status status = detail::guard_memory([&] { return streams_.synchronize(streams_.record(static_cast<Stream>(s))); });
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
    return streams_.synchronize(streams_.record(Stream::compute));
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
    return streams_.synchronize(streams_.record(Stream::to_host));
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
    if (Status status = wait(stream, point.event); !status) return fail(here, status.error());
  }
  return true;
}

Status DeviceSide::wait(Stream stream, const Event& event) {
  std::uint64_t& waited = waited_[static_cast<std::size_t>(stream)][static_cast<std::size_t>(event.stream)];
  if (waited >= event.sequence) return {};
  waited = event.sequence;
  return streams_.wait(stream, event);
}

template <class F>
bool DeviceSide::issue(const WorkView& work, const Origin& here, F&& enqueue, const MeasuredTrack::Nodes& together) {
  constexpr auto kWhat = TimelineEvent::What::compute;
  const std::optional<Point> point =
      put(Stream::compute, work, {kWhat, together ? together->back() : here.node, {}, together}, here, enqueue);
  if (point && work.seconds > 0 && prepared_.virtual_time) track_.add(kWhat, id_, here.node, begun_, point->time);
  return point.has_value();
}

bool DeviceSide::compute(const Step& step, const Origin& here, std::int64_t trip) {
  const Node& node = graph_.nodes[step.node];
  if (node.kind == NodeKind::operation) return launch(node, here);
  if (node.kind != NodeKind::counter) return true;  // constants and leaves are on the device already
  StorageIndex to = now_at(storage(node.results[0]));
  const WorkView work{{}, {&to, 1}, prepared_.costs.accelerator_seconds[step.node]};
  return issue(work, here, [&] { return device_.fill(range(to), static_cast<std::int32_t>(trip), here); });
}

bool DeviceSide::launch(const PreparedControl& control, std::int64_t count, const Origin& here) {
  const auto enqueue = [&] { return device_.controls()->launch(control.id, count, here); };
  return control.nodes ? issue(control.work, here, enqueue, control.nodes) : issue(control.work, here, enqueue);
}

bool DeviceSide::launch(const Node& node, const Origin& here) {
  if (const PreparedSegment* segment = segment_of(here.node)) {
    return !turn().members[here.node].first ||
           issue(
               segment->work, here, [&] { return device_.segments()->launch(segment->id, here); }, segment->nodes);
  }
  if (!turn().kernels[here.node].valid()) return true;  // the node runs with a later one, or has nothing to do
  if (!in_parts_.empty() && !verify_)
    if (const auto found = in_parts_.find(here.node); found != in_parts_.end()) return overlapped(found->second, here);
  auto enqueue = [&] { return device_.launch(turn().kernels[here.node], here); };
  if (!verify_ || graph_.purity(here.node) != Purity::pure) {
    return issue(turn().work[here.node], here, enqueue);
  }
  const FusionGroup* group = fusion_.group(here.node);
  std::optional<std::vector<Array>> inputs = fetch(group ? group->inputs : node.inputs, here);
  if (!inputs || !issue(turn().work[here.node], here, enqueue)) return false;
  std::optional<std::vector<Array>> results = fetch(group ? group->results : node.results, here);
  if (!results) return false;
  const RunState::Executing executing(*run_, here.position);
  if (Status told = announce_check(graph_, here.node, on_verify_); !told) return fail(here, told.error());
  std::optional<Error> error =
      group ? check_against_references(prepared_.graph(), prepared_.bound, *group, *inputs, *results, prepared_.precision)
            : check_against_reference(prepared_.graph(), prepared_.bound, here.node, *inputs, *results, nullptr, prepared_.precision);
  return error ? fail(here, std::move(*error)) : true;
}

std::optional<std::vector<Array>> DeviceSide::fetch(const std::vector<ValueId>& values, const Origin& here) {
  std::vector<Array> arrays;
  // The compute stream comes first: hazards are not tracked for memory that no transfer accesses.
  Status status = streams_.synchronize(streams_.record(Stream::compute));
  for (ValueId value : values) {
    Array array(graph_.values[value].type);
    if (status) {
      const StorageIndex from = now_at(storage(value));
      std::optional<Point> point =
          put(Stream::to_host, {{&from, 1}, {}, 0}, {}, here, [&] { return device_.copy_to_host(fetched_, range(from), here); });
      if (!point) return std::nullopt;
      status = streams_.synchronize(point->event);
    }
    if (status && array.type().bytes() > 0) std::memcpy(array.mutable_bytes(), fetched_, static_cast<std::size_t>(array.type().bytes()));
    arrays.push_back(std::move(array));
  }
  if (status) return arrays;
  fail(here, status.error());
  return std::nullopt;
}

bool DeviceSide::move(const std::vector<Move>& moves, const Origin& here) {
  if (!verify_ && prepared_moves_.contains(&moves)) return true;
  for (const Move& m : moves) {
    const StorageIndex to = now_at(m.to), from = now_at(m.from);
    if (!put(Stream::compute, {{&from, 1}, {&to, 1}, 0}, {}, here, [&] { return device_.copy_inside(range(to), range(from), here); }))
      return false;
  }
  return true;
}

void DeviceSide::rotate(const DoubleBuffers& double_buffers, std::int64_t trips) {
  double_buffers_ = &double_buffers;
  turn_ = static_cast<std::int32_t>(trips % double_buffers.turns);
}

bool DeviceSide::settle(const DoubleBuffers& double_buffers, const Origin& here) {
  double_buffers_ = nullptr;
  return move(double_buffers.home[static_cast<std::size_t>(std::exchange(turn_, 0))], here);
}

bool DeviceSide::discard(const std::vector<StorageIndex>& dead, const Origin& here) {
  MemoryCheck* const check = device_.memory_check();
  if (!check) return true;
  for (const StorageIndex each : dead) {
    const StorageIndex s = now_at(each);
    if (hazards_.watched(s)) continue;  // a copy may still read it, and a hint is not worth a wait
    if (Status status = check->discard(range(s), here); !status) return fail(here, status.error());
  }
  return true;
}

}  // namespace cleave::runtime
