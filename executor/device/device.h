// Device: an accelerator as the executor sees it: one arena of memory planned in advance, three streams, asynchronous copies from and to
// page-locked memory, and kernels that are prepared once and launched often. One driver thread enqueues all work. A command that fails
// later, on a stream, reports the error to the run at the command's origin and poisons the rest of that stream and everything that waits
// for it. A device may be able to do more: each such ability is an interface of its own, which the executor asks the device for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "executor/device/run_state.h"
#include "executor/device/streams.h"
#include "executor/runtime.h"
#include "graph/kernel/kernel_request.h"

namespace cleave::runtime {

using KernelId = Id<struct KernelTag>;

class CoalescedCopies;
class Controls;
class Mailboxes;
class MemoryCheck;
class PeerCopies;
class Segments;
class Timestamps;

/// Not the user's `cleave::Device` (graph/trace/scope.h), which only names a side.
class Device {
 public:
  virtual ~Device() = default;

  // --- memory, before any run
  // -------------------------------------------------------------------------------------------------------------
  /// Allocates the arena. Only `upload` writes to the ranges `kept`: data that the device derives from their contents stay valid until the
  /// next upload. An Error (machine) if memory is short.
  virtual Status allocate(std::int64_t bytes, std::span<const Range> kept) = 0;
  /// Allocates page-locked host memory that lives as long as the device.
  virtual Result<std::byte*> allocate_staging(std::int64_t bytes) = 0;
  /// Announces requests that `prepare` will get, so that a device which compiles kernels can compile them on all threads.
  virtual void announce(std::span<const KernelRequest> /*requests*/) {}
  virtual Result<KernelId> prepare(KernelRequest request) = 0;
  /// Fills a range of the arena and returns when the data have arrived. Allowed only while no run is in progress, or right after
  /// `begin_run`. `page_locked`: the memory at `from` is page-locked, so that the device copies from it directly.
  virtual Status upload(Range to, const std::byte* from, bool page_locked) = 0;
  /// The peak of bytes of the arena in use at once so far, counted from the bytes that commands really touched.
  [[nodiscard]] virtual std::int64_t measured_peak() const = 0;

  // --- a run ----------------------------------------------------------------------------------------------------------------------------
  /// Makes the device idle and free of old errors; an Error if the device is lost. Only uploaded ranges of the arena have defined contents.
  virtual Status begin_run(RunState& run) = 0;
  /// Waits until no command is in flight. After it the device does not access the run.
  virtual void end_run() = 0;
  /// Aborts the run: every wait ends, and commands that have not started never do. May be called from any thread.
  virtual void abort() = 0;
  [[nodiscard]] virtual bool lost() const = 0;
  virtual Streams& streams() = 0;

  // --- commands -------------------------------------------------------------------------------------------------------------------------
  virtual Status launch(KernelId kernel, const Origin& origin) = 0;                          ///< on `compute`
  virtual Status copy_to_device(Range to, const std::byte* from, const Origin& origin) = 0;  ///< on `to_device`
  virtual Status copy_to_host(std::byte* to, Range from, const Origin& origin) = 0;          ///< on `to_host`
  virtual Status copy_inside(Range to, Range from, const Origin& origin) = 0;                ///< on `compute`
  virtual Status fill(Range to, std::int32_t value, const Origin& origin) = 0;               ///< on `compute`; 4-byte words

  // --- abilities that only some devices have; null: not this one ------------------------------------------------------------------------
  virtual CoalescedCopies* coalesced_copies() { return nullptr; }
  virtual Segments* segments() { return nullptr; }
  /// Only on a device with segments.
  virtual Controls* controls() { return nullptr; }
  virtual Mailboxes* mailboxes() { return nullptr; }
  virtual Timestamps* timestamps() { return nullptr; }
  virtual MemoryCheck* memory_check() { return nullptr; }
  virtual PeerCopies* peer_copies() { return nullptr; }
};

}  // namespace cleave::runtime
