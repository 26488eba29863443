#include "executor/run/driver/device_contents.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/base/exceptions.h"

namespace cleave::runtime {

DeviceContents::DeviceContents(const Prepared& prepared, const DeviceCommands& commands, CommandQueue& queue)
    : prepared_(prepared),
      graph_(prepared.graph()),
      commands_(commands),
      queue_(queue),
      device_(queue.device()),
      plan_(prepared.plans[queue.id()]) {}

Status DeviceContents::make_room() {
  if (room_) return {};
  std::int64_t largest = 0;
  for (const MemoryPlan::Storage& each : plan_.storages) largest = std::max(largest, each.range.bytes);
  Result<std::byte*> staging = device_.allocate_staging(largest);
  if (!staging) return staging.error();
  room_ = *staging;
  return {};
}

Status DeviceContents::upload(const std::map<NodeId, Array>& leaves, const std::set<NodeId>& resident) {
  for (const NodeId leaf : commands_.leaves) {
    if (resident.contains(leaf)) continue;
    const ValueId value = graph_.nodes[leaf].results[0];
    const bool page_locked = prepared_.caller_memory.source(value) != nullptr;
    const Status status = detail::guard_memory([&] { return device_.upload(plan_.range(value), leaves.at(leaf).bytes(), page_locked); });
    if (!status) return status;
  }
  return {};
}

std::optional<std::vector<Array>> DeviceContents::fetch(const std::vector<ValueId>& values, const Origin& here) {
  Streams& streams = device_.streams();
  std::vector<Array> arrays;
  // The compute stream comes first: hazards are not tracked for memory that no transfer accesses.
  Status status = streams.synchronize(streams.record(Stream::compute));
  for (ValueId value : values) {
    Array array(graph_.values[value].type);
    if (status) {
      const StorageIndex from = queue_.rotation.at(plan_.storage_of[value]);
      std::optional<Point> point =
          queue_.put(Stream::to_host, {{&from, 1}, {}, 0}, {}, here, [&] { return device_.copy_to_host(room_, plan_.range(from), here); });
      if (!point) return std::nullopt;
      status = streams.synchronize(point->event);
    }
    if (status && array.type().bytes() > 0) std::memcpy(array.mutable_bytes(), room_, static_cast<std::size_t>(array.type().bytes()));
    arrays.push_back(std::move(array));
  }
  if (status) return arrays;
  queue_.fail(here, status.error());
  return std::nullopt;
}

std::optional<std::int64_t> DeviceContents::decision(NodeId control, ValueId value, const Origin& here) {
  const std::optional<std::vector<Array>> there = fetch({value}, here);
  if (!there) return std::nullopt;
  const Result<std::int64_t> decision = decision_of(graph_, control, value, there->front().bytes());
  if (decision) return *decision;
  queue_.fail(here, decision.error());
  return std::nullopt;
}

bool DeviceContents::keeps(ValueId value) const {
  const auto holds = [&](const Move& state) { return state.to == plan_.storage_of[value]; };
  return std::any_of(commands_.states.begin(), commands_.states.end(), holds);
}

Result<Array> DeviceContents::read(ValueId value) {
  if (Status room = make_room(); !room) return room.error();
  Result<Array> array = Array::allocate(graph_.values[value].type);
  if (!array) return array;
  RunState run;
  if (Status status = device_.begin_run(run); !status) return status.error();
  const Status copied = detail::guard_memory([&]() -> Status {
    if (Status status = device_.copy_to_host(room_, plan_.range(value), {}); !status) return status;
    return device_.streams().synchronize(device_.streams().record(Stream::to_host));
  });
  device_.end_run();
  if (!copied) return copied.error();
  if (const auto bytes = static_cast<std::size_t>(array->type().bytes()); bytes > 0) std::memcpy(array->mutable_bytes(), room_, bytes);
  return array;
}

Status DeviceContents::take_over_states(bool went_well) {
  Status status = detail::guard_memory([&]() -> Status {
    if (!went_well) return {};
    for (const Move& move : commands_.states)
      if (Status copied = move.to == move.from ? Status() : device_.copy_inside(plan_.range(move.to), plan_.range(move.from), {}); !copied)
        return copied;
    return device_.streams().synchronize(device_.streams().record(Stream::compute));
  });
  device_.end_run();
  return status;
}

}  // namespace cleave::runtime
