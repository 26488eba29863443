// Streams: the three queues of a device that execute its commands, each in order, and the events in them. The driver thread records events
// and lets one stream wait for another; any thread may wait for an event itself.
#pragma once

#include "executor/device/event.h"
#include "graph/base/result.h"

namespace cleave::runtime {

class Streams {
 public:
  virtual ~Streams() = default;
  virtual Event record(Stream stream) = 0;
  /// Like `record`, for an event after whose command another stream waits, without waiting for later commands.
  virtual Event record_awaited(Stream stream) = 0;
  /// Commands enqueued in `stream` from now on start after `event`.
  virtual Status wait(Stream stream, Event event) = 0;
  /// Blocks until `event` has completed; an Error if it is poisoned or the run is aborted. From any thread.
  virtual Status synchronize(Event event) = 0;
  /// Whether `event` is known to have completed. Never blocks. From any thread.
  [[nodiscard]] virtual bool passed(Event event) = 0;
};

}  // namespace cleave::runtime
