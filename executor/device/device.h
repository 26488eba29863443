// Device: an accelerator as the executor sees it: one arena of memory planned in advance, three streams, events, asynchronous copies from
// and to page-locked memory, and kernels that are prepared once and launched often. One driver thread enqueues all work; `synchronize` may
// be called from any thread. A command that fails later, on a stream, reports the error to the run at the command's origin and poisons the
// rest of that stream and everything that waits for it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/device/event.h"
#include "executor/device/mailbox.h"
#include "executor/device/position.h"
#include "executor/device/run_state.h"
#include "executor/runtime.h"
#include "graph/kernel/kernel_request.h"

namespace cleave::runtime {

using KernelId = Id<struct KernelTag>;

/// A kernel launch, or a copy inside the arena: one of several that are prepared as one command.
struct DeviceStep {
  KernelId kernel;  ///< invalid: a copy
  Range to, from;
  NodeId node;             ///< launches: the node that the kernel runs for
  std::int64_t order = 0;  ///< launches: the last number of its position
};
using SegmentId = Id<struct SegmentTag>;

/// A loop or branch with its whole body, which the device decides and runs by itself. A range without bytes is absent.
struct DeviceControl;
/// A step, or a nested loop or branch, or the point where a loop's counter is written.
struct DeviceItem {
  DeviceStep step;
  std::shared_ptr<const DeviceControl> control;  ///< null: the step
  bool counts = false;
};
struct DeviceControl {
  enum class Kind : std::uint8_t { repeat, while_true, branch } kind = Kind::repeat;
  NodeId node;
  std::int64_t count = 0;      ///< repeat: the maximum trip count; negative: given at each launch
  Range counter;               ///< repeat: the storage of the trip number, an i32
  bool counts_inside = false;  ///< the counter is written at its point in the body, since its storage holds another value before
  Range predicate;             ///< one byte: a branch's predicate; whether a loop goes on (while_true), or stops after this trip (repeat)
  bool decides_early = false;  ///< decides before the copies at the end of a trip, which overwrite the predicate's storage
  std::vector<DeviceItem> condition;  ///< while_true: before each decision
  std::vector<DeviceItem> body, otherwise;
  std::vector<DeviceStep> copies;  ///< run at the end of each trip
};
using ControlId = Id<struct ControlTag>;

/// A range of the arena that is copied together with others, and its offset among them in page-locked memory.
struct Piece {
  Range range;
  std::int64_t offset = 0;  ///< a multiple of 16
};
using PiecesId = Id<struct PiecesTag>;

/// When the device began and ended the commands of one label, on the host's clock, as exactly as the device can tell. From `begin` to
/// `work` the device waited for the host.
struct Measured {
  std::uint64_t label = 0;
  RunState::Clock::time_point begin, work, end;
};

/// Not the user's `cleave::Device` (graph/trace/scope.h), which only names a side.
class Device {
 public:
  virtual ~Device() = default;

  // --- once, before any run -------------------------------------------------------------------------------------------------------------
  /// Allocates the arena. An Error (machine) if memory is short.
  virtual Status allocate(std::int64_t bytes) = 0;
  /// Allocates page-locked host memory that lives as long as the device.
  virtual Result<std::byte*> allocate_staging(std::int64_t bytes) = 0;
  /// Promises that only `upload` writes to the range: data that the device derives from its contents stay valid until the next upload. Must
  /// be called before the kernels that read the range are prepared.
  virtual void keep(Range) {}
  virtual Result<KernelId> prepare(KernelRequest request) = 0;
  /// Whether a kernel may be part of a segment. Always false for a device without segments.
  [[nodiscard]] virtual bool joins(KernelId) const { return false; }
  /// Opens a mailbox for values that the host and this device exchange by `take` and `give`. Nullopt: the device cannot wait for the host
  /// by itself.
  virtual Result<std::optional<Mailbox>> open_mailbox() { return std::optional<Mailbox>(); }
  /// Prepares steps that are launched as one command; each of their kernels must satisfy `joins`. Must be called after all kernels are
  /// prepared.
  virtual SegmentId prepare_segment(std::vector<DeviceStep>) { return {}; }
  /// Prepares a loop or branch that is launched as one command; each of its kernels must satisfy `joins`. Must be called after all kernels
  /// are prepared. An invalid id: the device never decides by itself.
  virtual ControlId prepare_control(DeviceControl) { return {}; }
  /// Once a run has begun: whether the loop or branch can be launched as one command. If not, the driver walks its steps.
  [[nodiscard]] virtual bool controls(ControlId) const { return false; }
  /// Prepares pieces that are copied as one, on `to_device` or on `to_host`; they must not overlap. Must be called after the arena is
  /// allocated.
  virtual Result<PiecesId> prepare_pieces(std::vector<Piece> pieces, Stream stream) = 0;
  /// Fills a range of the arena and returns when the data have arrived. Allowed only while no run is in progress, or right after
  /// `begin_run`. `page_locked`: the memory at `from` is page-locked, so that the device copies from it directly.
  virtual Status upload(Range to, const std::byte* from, bool page_locked) = 0;

  // --- a run ----------------------------------------------------------------------------------------------------------------------------
  /// Makes the device idle and free of old errors; an Error if the device is lost. Only uploaded ranges of the arena have defined contents.
  virtual Status begin_run(RunState& run) = 0;
  /// Waits until no command is in flight. After it the device does not access the run.
  virtual void end_run() = 0;

  virtual Status launch(KernelId kernel, const Origin& origin) = 0;       ///< on `compute`
  virtual Status launch_segment(SegmentId, const Origin&) { return {}; }  ///< on `compute`
  /// `count` is the trip count of a loop whose count is given at each launch.
  virtual Status launch_control(ControlId, std::int64_t /*count*/, const Origin&) { return {}; }  ///< on `compute`
  virtual Status copy_to_device(Range to, const std::byte* from, const Origin& origin) = 0;       ///< on `to_device`
  virtual Status copy_to_host(std::byte* to, Range from, const Origin& origin) = 0;               ///< on `to_host`
  virtual Status copy_to_device(PiecesId to, const std::byte* from, const Origin& origin) = 0;    ///< on `to_device`
  virtual Status copy_to_host(std::byte* to, PiecesId from, const Origin& origin) = 0;            ///< on `to_host`
  virtual Status copy_inside(Range to, Range from, const Origin& origin) = 0;                     ///< on `compute`
  virtual Status fill(Range to, std::int32_t value, const Origin& origin) = 0;                    ///< on `compute`; 4-byte words
  /// Says that nothing reads `what` before it is written again. This is a hint, used by devices that check memory.
  virtual Status discard(Range what, const Origin& origin) = 0;  ///< on `compute`

  /// On `compute`: copies a value that the host has sent into the arena, after waiting for it.
  virtual Status take(Range, const Delivery&, const Origin&) { return no_mailbox(); }
  virtual Status take(PiecesId, const Delivery&, const Origin&) { return no_mailbox(); }
  /// On `compute`: copies a value out of the arena, for the host.
  virtual Status give(Range, const Delivery&, const Origin&) { return no_mailbox(); }
  virtual Status give(PiecesId, const Delivery&, const Origin&) { return no_mailbox(); }
  /// Called by the host: waits until the device has announced `number`, or the run `stops`. An Error if the value in `slot` is poisoned (a
  /// null slot is not checked), or the run is aborted.
  virtual Status await(const Mailbox&, std::uint64_t /*number*/, const MailboxSlot* /*slot*/, const std::function<bool()>& /*stops*/) {
    return no_mailbox();
  }

  virtual Event record(Stream stream) = 0;
  /// Like `record`, for an event after whose command another stream waits, without waiting for later commands.
  virtual Event record_awaited(Stream stream) { return record(stream); }
  /// Commands enqueued in `stream` from now on start after `event`.
  virtual Status wait(Stream stream, Event event) = 0;
  /// Blocks until `event` has completed; an Error if it is poisoned or the run is aborted.
  virtual Status synchronize(Event event) = 0;
  /// Whether `event` is known to have completed. Never blocks.
  [[nodiscard]] virtual bool passed(Event event) = 0;
  /// Aborts the run: every wait ends, and commands that have not started never do. May be called from any thread.
  virtual void abort() = 0;

  // --- times of a run, if it is measured; called by the driver thread ---------------------------------------------------------------
  /// Called right after `begin_run`, from any thread: prepares `measure`, so that the run does not wait for its preparation.
  virtual Status prepare_to_measure() { return {}; }
  /// From now on, until the end of the run, the device measures the times of labeled commands. False: the device cannot.
  virtual Result<bool> measure() { return false; }
  /// Commands enqueued in `stream` from now on have this label, which is higher than all labels before it; zero: no label.
  virtual void label(Stream, std::uint64_t) {}
  /// Appends those times of a stream that have become known since the last call, in the order of the stream; commands without a label have
  /// no entry. `last`: no further command is enqueued in the stream in this run.
  virtual Status measured(Stream, bool /*last*/, std::vector<Measured>& /*to*/) { return {}; }

  // --- facts ----------------------------------------------------------------------------------------------------------------------------
  [[nodiscard]] virtual bool lost() const = 0;
  [[nodiscard]] virtual bool simulated() const = 0;  ///< its times are those of the virtual clock
  /// The device's own address of an offset, which the host must not dereference.
  [[nodiscard]] virtual const std::byte* address(std::int64_t offset) const = 0;
  /// The peak of bytes of the arena in use at once so far, counted from the bytes that commands really touched.
  [[nodiscard]] virtual std::int64_t measured_peak() const = 0;

 private:
  static Status no_mailbox() { return Error{"the device has no mailboxes"}; }
};

}  // namespace cleave::runtime
