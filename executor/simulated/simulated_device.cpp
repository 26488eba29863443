#include "executor/simulated/simulated_device.h"

#include <cstring>
#include <new>
#include <utility>

#include "executor/simulated/rounded_product.h"
#include "graph/base/units.h"

namespace cleave::runtime {
namespace {

Error machine_error(std::string message) {
  return {std::move(message), {}, ErrorKind::machine};
}

}  // namespace

SimulatedDevice::SimulatedDevice(const ExecutorOptions& options, const Faults& faults)
    : oom_(faults.oom),
      precision_(options.precision),
      memory_(options.check_memory, options.check_memory || faults.corrupt > 0),
      workers_(Workers::of(options.threads)),
      queue_(streams_, faults),
      copies_(memory_, queue_),
      streams_(options.schedule, options.schedule_seed) {}

SimulatedDevice::~SimulatedDevice() = default;

Status SimulatedDevice::allocate(std::int64_t bytes, std::span<const Range>) {
  if (oom_) return machine_error("out of memory on the simulated accelerator (injected)");
  return memory_.allocate(bytes);
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
  for (std::size_t i = 0; i < r.inputs.size(); ++i) prepared->views.push_back({&r.input_types[i], memory_.raw().alias(r.inputs[i].offset)});
  for (std::size_t i = 0; i < r.results.size(); ++i)
    prepared->views.push_back({&r.result_types[i], memory_.raw().alias(r.results[i].offset)});
  kernels_.push_back(std::move(prepared));
  return KernelId(kernels_.size() - 1);
}

Status SimulatedDevice::upload(Range to, const std::byte* from, bool) {
  if (to.bytes > 0) std::memcpy(memory_.raw().alias(to.offset), from, static_cast<std::size_t>(to.bytes));
  memory_.raw().mark_written(to);
  return {};
}

Status SimulatedDevice::begin_run(RunState& run) {
  if (lost()) return FaultInjector::lost_error();
  queue_.begin();
  return streams_.begin(run);
}

Status SimulatedDevice::run_kernel(const PreparedKernel& prepared) {
  const KernelRequest& r = prepared.request;
  for (const Range& input : r.inputs) {
    if (Status status = memory_.check_written(input); !status) return status;
  }
  OpContext context{[](std::string_view) {}};
  std::span<const TensorView> views = prepared.views;
  Status status = run_guarded(*prepared.kernel,
                              {*r.op, *r.attributes, views.first(r.inputs.size()), views.subspan(r.inputs.size()), context, *workers_});
  if (!status) return status;
  for (const Range& result : r.results) memory_.raw().mark_written(result);
  return {};
}

Status SimulatedDevice::launch(KernelId kernel, const Origin& origin) {
  const PreparedKernel& prepared = *kernels_[kernel.index];
  queue_.issue(FaultInjector::Work::kernel, queue_.begun_by(Stream::compute, origin), Stream::compute, origin,
               [this, &prepared](std::int64_t) { return run_kernel(prepared); });
  return {};
}

Status SimulatedDevice::copy_to_device(Range to, const std::byte* from, const Origin& origin) {
  queue_.issue(FaultInjector::Work::transfer, queue_.begun_by(Stream::to_device, origin), Stream::to_device, origin,
               [this, to, from](std::int64_t corrupt) { return memory_.bring(to, from, corrupt == 0); });
  return {};
}

Status SimulatedDevice::copy_to_host(std::byte* to, Range from, const Origin& origin) {
  queue_.issue(FaultInjector::Work::transfer, queue_.begun_by(Stream::to_host, origin), Stream::to_host, origin,
               [this, to, from](std::int64_t corrupt) { return memory_.fetch(to, from, corrupt == 0); });
  return {};
}

Status SimulatedDevice::copy_from(Range to, Device& source, Range from, const Origin& origin) {
  const CheckedMemory* const there = &static_cast<SimulatedDevice&>(source).memory_;
  queue_.issue(FaultInjector::Work::transfer, queue_.begun_by(Stream::to_device, origin), Stream::to_device, origin,
               [this, to, from, there](std::int64_t corrupt) { return memory_.take(to, *there, from, corrupt == 0); });
  return {};
}

Status SimulatedDevice::copy_inside(Range to, Range from, const Origin& origin) {
  SimulatedStreams::Command command;
  command.origin = origin;
  command.action = [this, to, from] { return memory_.copy(to, from); };
  streams_.enqueue(Stream::compute, command);
  return {};
}

Status SimulatedDevice::fill(Range to, std::int32_t value, const Origin& origin) {
  SimulatedStreams::Command command;
  command.origin = origin;
  command.action = [this, to, value]() -> Status {
    memory_.fill(to, value);
    return {};
  };
  streams_.enqueue(Stream::compute, command);
  return {};
}

Status SimulatedDevice::discard(Range what, const Origin& origin) {
  SimulatedStreams::Command command;
  command.origin = origin;
  command.action = [this, what]() -> Status {
    memory_.raw().poison(what);
    return {};
  };
  streams_.enqueue(Stream::compute, command);
  return {};
}

}  // namespace cleave::runtime
