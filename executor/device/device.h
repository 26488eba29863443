// Device: an accelerator as the executor sees it: one arena of memory planned in advance, three streams, events, asynchronous copies from
// and to page-locked memory, kernels prepared once and launched often. All work is enqueued by one driver thread; `synchronize` may be
// called from any. What fails later, on a stream, is told to the run at its origin and poisons the rest of that stream and what waits for
// it.
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
#include "partitioner/machine/kernel_request.h"

namespace cleave::runtime {

using KernelId = Id<struct KernelTag>;

/// A launch, or a copy inside the arena: one of several that are prepared as one.
struct DeviceStep {
  KernelId kernel;  ///< invalid: a copy
  Range to, from;
  NodeId node;             ///< launches: what for
  std::int64_t order = 0;  ///< launches: the last number of its position
};
using SegmentId = Id<struct SegmentTag>;

/// A loop or branch with all that is inside, which a device decides and runs by itself. Ranges without bytes: there is none.
struct DeviceControl;
/// A step, or such a loop or branch, or the place where a loop's counter is written.
struct DeviceItem {
  DeviceStep step;
  std::shared_ptr<const DeviceControl> control;  ///< null: the step
  bool counts = false;
};
struct DeviceControl {
  enum class Kind : std::uint8_t { repeat, while_true, branch } kind = Kind::repeat;
  NodeId node;
  std::int64_t count = 0;             ///< repeat: trips at most; negative: said at each launch
  Range counter;                      ///< repeat: where each trip finds its number, an i32
  bool counts_inside = false;         ///< … written at its place in the body, since else something else is there
  Range predicate;                    ///< one byte: a branch's; whether a loop goes on (while_true), or stops behind the trip (repeat)
  bool decides_early = false;         ///< before the copies at the end of a trip, which write where the predicate is
  std::vector<DeviceItem> condition;  ///< while_true: before each decision
  std::vector<DeviceItem> body, otherwise;
  std::vector<DeviceStep> copies;  ///< at the end of a trip
};
using ControlId = Id<struct ControlTag>;

/// A part of the arena that is copied together with others, and where it lies among them in page-locked memory.
struct Piece {
  Range range;
  std::int64_t offset = 0;  ///< a multiple of 16
};
using PiecesId = Id<struct PiecesTag>;

/// When a device began and ended what has one label, on the host's clock, as exactly as the device can tell. From `begin` to `work` it
/// waited for the host.
struct Measured {
  std::uint64_t label = 0;
  RunState::Clock::time_point begin, work, end;
};

/// Not the user's `cleave::Device` (graph/trace/scope.h), which only names a side.
class Device {
 public:
  virtual ~Device() = default;

  // --- once, before any run -------------------------------------------------------------------------------------------------------------
  /// The arena. An Error (machine) where memory is short.
  virtual Status allocate(std::int64_t bytes) = 0;
  /// Page-locked host memory that lives as long as the device.
  virtual Result<std::byte*> allocate_staging(std::int64_t bytes) = 0;
  /// Only `upload` will write there: what a device makes of the contents holds good until then. Before the kernels that read them.
  virtual void keep(Range) {}
  virtual Result<KernelId> prepare(KernelRequest request) = 0;
  /// Whether a kernel may be part of a segment. A device that has no segments says no.
  [[nodiscard]] virtual bool joins(KernelId) const { return false; }
  /// For values that the host and this device hand each other by `take` and `give`. None: it cannot wait for the host by itself.
  virtual Result<std::optional<Mailbox>> open_mailbox() { return std::optional<Mailbox>(); }
  /// Steps, of kernels that join, that are launched as one. After all kernels.
  virtual SegmentId prepare_segment(std::vector<DeviceStep>) { return {}; }
  /// A loop or branch, of kernels that join, that is launched as one. After all kernels. Invalid: the device never decides by itself.
  virtual ControlId prepare_control(DeviceControl) { return {}; }
  /// Once a run has begun: whether it can be launched. If not, it has to be walked.
  [[nodiscard]] virtual bool controls(ControlId) const { return false; }
  /// Pieces, no two on top of each other, that will be copied as one: on `to_device` or on `to_host`. After the arena.
  virtual Result<PiecesId> prepare_pieces(std::vector<Piece> pieces, Stream stream) = 0;
  /// Fills a part of the arena and returns when it is there. Only while no run is in progress, or right after `begin_run`.
  /// `page_locked`: the device copies from where `from` is.
  virtual Status upload(Range to, const std::byte* from, bool page_locked) = 0;

  // --- a run ----------------------------------------------------------------------------------------------------------------------------
  /// Idle and free of old errors afterwards; an Error if the device is lost. Of the arena, only what was uploaded is defined.
  virtual Status begin_run(RunState& run) = 0;
  /// Returns when nothing is in flight any more. After it the run is not touched.
  virtual void end_run() = 0;

  virtual Status launch(KernelId kernel, const Origin& origin) = 0;       ///< on `compute`
  virtual Status launch_segment(SegmentId, const Origin&) { return {}; }  ///< on `compute`
  /// `count` where that is said at each launch.
  virtual Status launch_control(ControlId, std::int64_t /*count*/, const Origin&) { return {}; }  ///< on `compute`
  virtual Status copy_to_device(Range to, const std::byte* from, const Origin& origin) = 0;       ///< on `to_device`
  virtual Status copy_to_host(std::byte* to, Range from, const Origin& origin) = 0;               ///< on `to_host`
  virtual Status copy_to_device(PiecesId to, const std::byte* from, const Origin& origin) = 0;    ///< on `to_device`
  virtual Status copy_to_host(std::byte* to, PiecesId from, const Origin& origin) = 0;            ///< on `to_host`
  virtual Status copy_inside(Range to, Range from, const Origin& origin) = 0;                     ///< on `compute`
  virtual Status fill(Range to, std::int32_t value, const Origin& origin) = 0;                    ///< on `compute`; 4-byte words
  /// Nobody will read `what` before it is written again. A hint; devices that check use it.
  virtual Status discard(Range what, const Origin& origin) = 0;  ///< on `compute`

  /// On `compute`: into the arena what the host has sent, once it has.
  virtual Status take(Range, const Delivery&, const Origin&) { return no_mailbox(); }
  virtual Status take(PiecesId, const Delivery&, const Origin&) { return no_mailbox(); }
  /// On `compute`: out of the arena, for the host.
  virtual Status give(Range, const Delivery&, const Origin&) { return no_mailbox(); }
  virtual Status give(PiecesId, const Delivery&, const Origin&) { return no_mailbox(); }
  /// By the host: until the device has said `number`, or the run `stops`. An Error if what is in `slot` (null: not looked at) is poisoned,
  /// or the run is given up.
  virtual Status await(const Mailbox&, std::uint64_t /*number*/, const MailboxSlot* /*slot*/, const std::function<bool()>& /*stops*/) {
    return no_mailbox();
  }

  virtual Event record(Stream stream) = 0;
  /// The same where another stream will wait for the last command, but for nothing that is put behind it.
  virtual Event record_awaited(Stream stream) { return record(stream); }
  /// What is put into `stream` from now on starts after `event`.
  virtual Status wait(Stream stream, Event event) = 0;
  /// Blocks until `event`; an Error if it is poisoned or the run is given up.
  virtual Status synchronize(Event event) = 0;
  /// Whether `event` is known to be behind by now. Waits for nothing.
  [[nodiscard]] virtual bool passed(Event event) = 0;
  /// Gives up the run: every wait ends, what has not started never does. From any thread.
  virtual void abort() = 0;

  // --- times of a run, where it is to be measured: by the driver thread ---------------------------------------------------------------
  /// Right after `begin_run`, from any thread: makes what `measure` needs, so that the run does not wait for that.
  virtual Status prepare_to_measure() { return {}; }
  /// From now on, until the end of the run, the times of labelled commands are taken. False: the device cannot.
  virtual Result<bool> measure() { return false; }
  /// What is put into `stream` from now on has this label, higher than all before it; zero: none.
  virtual void label(Stream, std::uint64_t) {}
  /// Appends the times of a stream that are known by now and were not given yet: in its order, nothing where nothing is under a label.
  /// `last`: no more will be put into it in this run.
  virtual Status measured(Stream, bool /*last*/, std::vector<Measured>& /*to*/) { return {}; }

  // --- facts ----------------------------------------------------------------------------------------------------------------------------
  [[nodiscard]] virtual bool lost() const = 0;
  [[nodiscard]] virtual bool simulated() const = 0;  ///< its times are the virtual clock's
  /// The device's own address of an offset: not for the host to read.
  [[nodiscard]] virtual const std::byte* address(std::int64_t offset) const = 0;
  /// The most bytes of the arena in use at once so far, counted by what was really touched.
  [[nodiscard]] virtual std::int64_t measured_peak() const = 0;

 private:
  static Status no_mailbox() { return Error{"the device has no mailboxes"}; }
};

}  // namespace cleave::runtime
