// Streams and events: a device works off three queues, each in order; an event is a point of one of them. Waiting for a point of a stream
// that has failed fails too: that is how an error poisons what depends on it.
#pragma once

#include <cstdint>

namespace cleave::runtime {

enum class Stream : std::uint8_t { compute, to_device, to_host };
inline constexpr int kStreamCount = 3;

/// "All that was put into `stream` up to `sequence` is done". The default is always so.
struct Event {
  Stream stream = Stream::compute;
  std::uint64_t sequence = 0;
};

}  // namespace cleave::runtime
