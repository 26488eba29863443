#include "executor/simulated/simulated_device.h"

#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "executor/simulated/rounded_product.h"
#include "graph/base/units.h"

namespace cleave::runtime {
namespace {

Error machine_error(std::string message) {
  return {std::move(message), {}, ErrorKind::machine};
}

Error lost_error() {
  return machine_error("the simulated accelerator is lost (injected)");
}

std::uint64_t checksum(const std::byte* data, std::int64_t bytes) {
  std::uint64_t sum = 0xcbf29ce484222325U;  // FNV-1a, eight bytes a step
  std::int64_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, data + i, 8);
    sum = (sum ^ word) * 0x100000001b3U;
    sum ^= sum >> 29;
  }
  for (; i < bytes; ++i) sum = (sum ^ static_cast<std::uint64_t>(data[i])) * 0x100000001b3U;
  return sum;
}

/// Calls `copy(piece, corrupt)` for each piece. An empty piece cannot be damaged: the next one is damaged instead.
template <class F>
Status each_piece(const std::vector<Piece>& pieces, std::int64_t corrupt, F copy) {
  for (const Piece& piece : pieces) {
    if (Status status = copy(piece, corrupt == 0 && piece.range.bytes > 0); !status) return status;
    if (corrupt > 0 || piece.range.bytes > 0) --corrupt;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Device>> SimulatedDevice::open(const ExecutorOptions& options, const Faults& faults) {
  std::unique_ptr<SimulatedDevice> device(new SimulatedDevice(options, faults));
  device->streams_ = std::make_unique<SimulatedStreams>(options.schedule, options.schedule_seed);
  device->workers_ = Workers::of(options.threads);
  return std::unique_ptr<Device>(std::move(device));
}

SimulatedDevice::~SimulatedDevice() = default;

Status SimulatedDevice::allocate(std::int64_t bytes) {
  if (faults_.oom) return machine_error("out of memory on the simulated accelerator (injected)");
  Result<std::unique_ptr<SimulatedMemory>> memory = SimulatedMemory::create(bytes, check_);
  if (!memory) return memory.error();
  memory_ = std::move(*memory);
  return {};
}

Result<std::byte*> SimulatedDevice::allocate_staging(std::int64_t bytes) {
  auto* memory = new (std::nothrow) std::byte[static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))];
  if (!memory) return machine_error("cannot get " + format_bytes(static_cast<double>(bytes)) + " for a transfer");
  staging_.emplace_back(memory);
  return memory;
}

Result<KernelId> SimulatedDevice::prepare(KernelRequest request) {
  auto prepared = std::make_unique<PreparedKernel>();
  prepared->request = std::move(request);
  KernelRequest& r = prepared->request;
  prepared->kernel = simulated::kernel_in(precision_, r);
  for (std::size_t i = 0; i < r.inputs.size(); ++i) prepared->views.push_back({&r.input_types[i], memory_->alias(r.inputs[i].offset)});
  for (std::size_t i = 0; i < r.results.size(); ++i) prepared->views.push_back({&r.result_types[i], memory_->alias(r.results[i].offset)});
  kernels_.push_back(std::move(prepared));
  return KernelId(kernels_.size() - 1);
}

Status SimulatedDevice::upload(Range to, const std::byte* from, bool) {
  if (to.bytes > 0) std::memcpy(memory_->alias(to.offset), from, static_cast<std::size_t>(to.bytes));
  memory_->mark_written(to);
  return {};
}

Status SimulatedDevice::begin_run(RunState& run) {
  if (lost_) return lost_error();
  for (Origin& last : last_begun_) last = {};
  return streams_->begin(run);
}

template <class F>
void SimulatedDevice::issue(Work work, std::int64_t values, Stream stream, const Origin& origin, F action) {
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
    command.action = [work, failing]() -> Status {
      return machine_error((work == Work::kernel ? "kernel " : "transfer ") + std::to_string(failing) +
                           " failed on the simulated accelerator (injected)");
    };
  } else {
    const std::int64_t corrupt = work == Work::transfer && hit(faults_.corrupt, before) ? faults_.corrupt - before - 1 : -1;
    command.action = [action, corrupt] { return action(corrupt); };
  }
  streams_->enqueue(stream, command);
}

std::int64_t SimulatedDevice::begun_by(Stream stream, const Origin& origin) {
  Origin& last = last_begun_[static_cast<std::size_t>(stream)];
  const bool goes_on = origin.position.size() > 0 && origin.node == last.node && origin.position == last.position;
  last = origin;
  return goes_on ? 0 : 1;
}

Status SimulatedDevice::check_written(const Range& range) const {
  if (memory_->written(range)) return {};
  return machine_error("reads accelerator memory that nobody wrote (a transfer or wait is missing)");
}

Status SimulatedDevice::run_kernel(const PreparedKernel& prepared) {
  const KernelRequest& r = prepared.request;
  for (const Range& input : r.inputs) {
    if (Status status = check_written(input); !status) return status;
  }
  OpContext context{[](std::string_view) {}};
  std::span<const TensorView> views = prepared.views;
  Status status = run_guarded(*prepared.kernel,
                              {*r.op, *r.attributes, views.first(r.inputs.size()), views.subspan(r.inputs.size()), context, *workers_});
  if (!status) return status;
  for (const Range& result : r.results) memory_->mark_written(result);
  return {};
}

Status SimulatedDevice::launch(KernelId kernel, const Origin& origin) {
  const PreparedKernel& prepared = *kernels_[kernel.index];
  issue(Work::kernel, begun_by(Stream::compute, origin), Stream::compute, origin,
        [this, &prepared](std::int64_t) { return run_kernel(prepared); });
  return {};
}

Status SimulatedDevice::transfer(std::byte* to, const std::byte* from, std::int64_t bytes, bool corrupt) const {
  if (bytes == 0) return {};
  bool checked = check_ || faults_.corrupt > 0;
  std::uint64_t sent = checked ? checksum(from, bytes) : 0;
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
  if (corrupt) to[bytes / 2] ^= std::byte{0x10};
  if (checked && checksum(to, bytes) != sent) return machine_error("a transfer arrived with other bytes than were sent");
  return {};
}

Status SimulatedDevice::bring(const Range& to, const std::byte* from, bool corrupt) {
  Status status = transfer(memory_->alias(to.offset), from, to.bytes, corrupt);
  if (status) memory_->mark_written(to);
  return status;
}

Status SimulatedDevice::fetch(std::byte* to, const Range& from, bool corrupt) const {
  Status status = check_written(from);
  return status ? transfer(to, memory_->alias(from.offset), from.bytes, corrupt) : status;
}

Status SimulatedDevice::copy_to_device(Range to, const std::byte* from, const Origin& origin) {
  issue(Work::transfer, begun_by(Stream::to_device, origin), Stream::to_device, origin,
        [this, to, from](std::int64_t corrupt) { return bring(to, from, corrupt == 0); });
  return {};
}

Status SimulatedDevice::copy_to_host(std::byte* to, Range from, const Origin& origin) {
  issue(Work::transfer, begun_by(Stream::to_host, origin), Stream::to_host, origin,
        [this, to, from](std::int64_t corrupt) { return fetch(to, from, corrupt == 0); });
  return {};
}

Result<PiecesId> SimulatedDevice::prepare_pieces(std::vector<Piece> pieces, Stream) {
  pieces_.push_back(std::make_unique<const std::vector<Piece>>(std::move(pieces)));
  return PiecesId(pieces_.size() - 1);
}

Status SimulatedDevice::copy_to_device(PiecesId to, const std::byte* from, const Origin& origin) {
  const std::vector<Piece>& pieces = *pieces_[to.index];
  const auto bring_all = [this, &pieces, from](std::int64_t corrupt) {
    return each_piece(pieces, corrupt, [&](const Piece& piece, bool damage) { return bring(piece.range, from + piece.offset, damage); });
  };
  issue(Work::transfer, std::ssize(pieces), Stream::to_device, origin, bring_all);
  return {};
}

Status SimulatedDevice::copy_to_host(std::byte* to, PiecesId from, const Origin& origin) {
  const std::vector<Piece>& pieces = *pieces_[from.index];
  const auto fetch_all = [this, &pieces, to](std::int64_t corrupt) {
    return each_piece(pieces, corrupt, [&](const Piece& piece, bool damage) { return fetch(to + piece.offset, piece.range, damage); });
  };
  issue(Work::transfer, std::ssize(pieces), Stream::to_host, origin, fetch_all);
  return {};
}

Status SimulatedDevice::copy_inside(Range to, Range from, const Origin& origin) {
  SimulatedStreams::Command command;
  command.origin = origin;
  command.action = [this, to, from]() -> Status {
    if (Status status = check_written(from); !status) return status;
    if (to.bytes > 0) std::memcpy(memory_->alias(to.offset), memory_->alias(from.offset), static_cast<std::size_t>(to.bytes));
    memory_->mark_written(to);
    return {};
  };
  streams_->enqueue(Stream::compute, command);
  return {};
}

Status SimulatedDevice::fill(Range to, std::int32_t value, const Origin& origin) {
  SimulatedStreams::Command command;
  command.origin = origin;
  command.action = [this, to, value]() -> Status {
    for (std::int64_t i = 0; i + 4 <= to.bytes; i += 4) std::memcpy(memory_->alias(to.offset + i), &value, 4);
    memory_->mark_written(to);
    return {};
  };
  streams_->enqueue(Stream::compute, command);
  return {};
}

Status SimulatedDevice::discard(Range what, const Origin& origin) {
  SimulatedStreams::Command command;
  command.origin = origin;
  command.action = [this, what]() -> Status {
    memory_->poison(what);
    return {};
  };
  streams_->enqueue(Stream::compute, command);
  return {};
}

Status SimulatedDevice::wait(Stream stream, Event event) {
  if (event.sequence == 0 || event.stream == stream) return {};
  SimulatedStreams::Command command;
  command.after = event;
  streams_->enqueue(stream, command);
  return {};
}

}  // namespace cleave::runtime
