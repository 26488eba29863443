// RunProgress: the progress of a run, written by the executor's threads and read by any thread at any time. It costs the run one store for
// each trip of an outermost `for`.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "graph/base/id.h"

namespace cleave {

class RunProgress {
 public:
  /// `trip` of `count` trips of the loop `node` are done.
  struct Step {
    NodeId node;
    std::int64_t trip = 0, count = 0;
  };

  /// Must be called only by the thread that walks the device's program.
  void enter(DeviceId device, NodeId loop, std::int64_t count) {
    Side& side = sides_[device.index % sides_.size()];
    side.trip.store(0, std::memory_order_relaxed);
    side.count.store(count, std::memory_order_relaxed);
    side.loop.store(loop.index, std::memory_order_relaxed);
  }
  void trip(DeviceId device, std::int64_t done) { sides_[device.index % sides_.size()].trip.store(done, std::memory_order_relaxed); }
  void leave(DeviceId device) { sides_[device.index % sides_.size()].loop.store(kNone, std::memory_order_relaxed); }

  /// The progress of the side that is behind, since devices are given work ahead. Nullopt outside of loops with a known count.
  [[nodiscard]] std::optional<Step> step() const {
    std::optional<Step> last;
    for (const Side& side : sides_) {
      const std::uint32_t loop = side.loop.load(std::memory_order_relaxed);
      if (loop == kNone) continue;
      const Step step{NodeId(std::size_t{loop}), side.trip.load(std::memory_order_relaxed), side.count.load(std::memory_order_relaxed)};
      if (!last || step.node.index < last->node.index || (step.node == last->node && step.trip < last->trip)) last = step;
    }
    return last;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct alignas(64) Side {  // a cache line each, so that the threads do not wait for each other
    std::atomic<std::uint32_t> loop = kNone;
    std::atomic<std::int64_t> trip = 0, count = 0;
  };
  std::array<Side, 8> sides_;
};

}  // namespace cleave
