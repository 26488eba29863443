// Streams and events: a device executes three queues, each in order; an event is a point in one of them. Waiting for a point of a stream
// that has failed fails too: so an error poisons the work that depends on it.
#pragma once

#include <cstdint>

namespace cleave::runtime {

enum class Stream : std::uint8_t { compute, to_device, to_host };
inline constexpr int kStreamCount = 3;

/// Says that all commands enqueued in `stream` up to `sequence` are done. A default event is always complete.
struct Event {
  Stream stream = Stream::compute;
  std::uint64_t sequence = 0;
};

}  // namespace cleave::runtime
