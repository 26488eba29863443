// FaultInjector: enqueues kernels and transfers, some of which an injected fault hits (faults.h).
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "executor/simulated/faults.h"
#include "executor/simulated/streams.h"

namespace cleave::runtime {

class FaultInjector {
 public:
  enum class Work : std::uint8_t { kernel, transfer };

  FaultInjector(SimulatedStreams& streams, const Faults& faults) : streams_(streams), faults_(faults) {}

  /// Must be called before each run.
  void begin();
  /// The device is lost.
  [[nodiscard]] bool lost() const { return lost_; }
  static Error lost_error();

  /// Enqueues one kernel, or the transfer of `values` values. `action` receives the index of the value to damage (-1: none).
  template <class F>
  void issue(Work work, std::int64_t values, Stream stream, const Origin& origin, F action) {
    const std::int64_t all_before = issued_kernels_ + issued_transfers_;
    std::int64_t& of_kind = work == Work::kernel ? issued_kernels_ : issued_transfers_;
    const std::int64_t before = std::exchange(of_kind, of_kind + values);
    const auto hit = [&](std::int64_t fault, std::int64_t from) { return from < fault && fault <= from + values; };
    SimulatedStreams::Command command;
    command.origin = origin;
    command.stalls = hit(faults_.stall, all_before);
    losing_ = losing_ || hit(faults_.lost, all_before);
    const std::int64_t failing = work == Work::kernel ? faults_.kernel : faults_.transfer;
    if (losing_) {
      command.action = [this]() -> Status {
        lost_ = true;
        return lost_error();
      };
    } else if (hit(failing, before)) {
      command.action = [work, failing] { return failure(work, failing); };
    } else {
      const std::int64_t corrupt = work == Work::transfer && hit(faults_.corrupt, before) ? faults_.corrupt - before - 1 : -1;
      command.action = [action, corrupt] { return action(corrupt); };
    }
    streams_.enqueue(stream, command);
  }
  /// The number of values whose transfer begins with a copy for `origin`: zero if the copy continues that of the previous one.
  std::int64_t begun_by(Stream stream, const Origin& origin);

 private:
  static Status failure(Work work, std::int64_t number);

  SimulatedStreams& streams_;
  const Faults faults_;
  std::int64_t issued_kernels_ = 0, issued_transfers_ = 0;
  Origin last_begun_[kStreamCount];
  bool losing_ = false;             ///< the loss of the device is enqueued
  std::atomic<bool> lost_ = false;  ///< the loss has happened
};

}  // namespace cleave::runtime
