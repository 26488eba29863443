#include "executor/run/transport/host_end.h"

#include <utility>

namespace cleave::runtime {

bool HostEnd::await(Streams& streams, const Event& event, const Origin& here) {
  if (event.sequence == 0) return true;
  run_->set_waiting(kHost, here.node);
  const Status status = streams.synchronize(event);
  run_->clear_waiting(kHost);
  return status.ok() || fail(here, status.error());
}

bool HostEnd::await(Streams& streams, const Point& point, const Origin& here) {
  if (!await(streams, point.event, here)) return false;
  clock.wait_until(point.time, here.node);
  return true;
}

bool HostEnd::fail(const Origin& here, Error error) {
  run_->fail(here, std::move(error));
  return false;
}

}  // namespace cleave::runtime
