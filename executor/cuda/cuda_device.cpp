#include "executor/cuda/cuda_device.h"

#include "executor/cuda/controls.h"
#include "executor/cuda/cuda_kernels.h"
#include "executor/cuda/mailboxes.h"
#include "executor/cuda/segments.h"

namespace cleave::runtime::cuda {

/// The parts of an open device. Each refers to some of those before it.
struct CudaDevice::Parts {
  Parts(const Api& api, const CudaOptions& options, Context& context, CudaStreams& streams, Compiler compiler)
      : memory(context, streams, options.upload_bytes),
        modules(context, std::move(compiler)),
        faults(context, memory),
        sources(memory, modules, faults),
        rounded(context, streams, options, sources),
        products(context, api.blas, options, memory, sources, rounded),
        kernels(context, streams, options, api.libraries.get(), memory, modules, faults, sources, products),
        segments(context, streams, memory, kernels),
        controls(context, streams, memory, modules, kernels),
        copies(context, streams, options, memory, modules),
        mailboxes(context, streams, memory, modules, copies) {}

  CudaMemory memory;
  CudaModules modules;
  KernelFaults faults;
  SourceKernels sources;
  RoundedCopies rounded;
  Products products;
  CudaKernels kernels;
  CudaSegments segments;
  CudaControls controls;
  CudaCoalescedCopies copies;
  CudaMailboxes mailboxes;
};

CudaDevice::CudaDevice(const Api& api, CudaOptions options) : api_(api), options_(std::move(options)) {}

Result<std::unique_ptr<Device>> CudaDevice::open(const Api& api, CudaOptions options) {
  std::unique_ptr<CudaDevice> device(new CudaDevice(api, std::move(options)));
  if (Status status = device->open_parts(); !status) return status.error();
  return std::unique_ptr<Device>(std::move(device));
}

Status CudaDevice::open_parts() {
  Result<std::shared_ptr<Context>> context =
      api_.contexts ? api_.contexts->open(options_.ordinal) : Context::open(api_.driver, options_.ordinal);
  if (!context) return context.error();
  context_ = *std::move(context);
  const Context::Visit visit(*context_);
  if (!visit.status()) return visit.status();
  Result<Compiler> compiler = Compiler::open(api_.compiler, context_->architecture(), options_.cache_folder);
  if (!compiler) return compiler.error();
  Result<std::unique_ptr<CudaStreams>> streams = CudaStreams::open(*context_, options_.streams);
  if (!streams) return streams.error();
  streams_ = *std::move(streams);
  parts_ = std::make_unique<Parts>(api_, options_, *context_, *streams_, *std::move(compiler));
  streams_->watch_faults([this] { return parts_->faults.find(); });
  return parts_->memory.open();
}

CudaDevice::~CudaDevice() {
  if (!context_) return;
  // If this fails, the calls that free fail too, and nothing can be done about it.
  ending_.emplace(*context_);
  if (streams_) streams_->end();
}

Status CudaDevice::allocate(std::int64_t bytes, std::span<const Range> kept) {
  const Context::Visit visit(*context_);
  if (!visit.status()) return visit.status();
  parts_->rounded.keep(kept);
  return parts_->memory.allocate(bytes);
}

Result<std::byte*> CudaDevice::allocate_staging(std::int64_t bytes) {
  const Context::Visit visit(*context_);
  if (!visit.status()) return visit.status().error();
  return parts_->memory.stage(bytes);
}

void CudaDevice::announce(std::span<const KernelRequest> requests) {
  parts_->kernels.announce(requests);
}

Result<KernelId> CudaDevice::prepare(KernelRequest request) {
  const Context::Visit visit(*context_);
  if (!visit.status()) return visit.status().error();
  return parts_->kernels.prepare(std::move(request));
}

Status CudaDevice::upload(Range to, const std::byte* from, bool page_locked) {
  const Context::Visit visit(*context_);
  if (!visit.status()) return visit.status();
  Status status = parts_->memory.upload(to, from, page_locked);
  return status ? parts_->rounded.uploaded(to) : status;
}

std::int64_t CudaDevice::measured_peak() const {
  return parts_->memory.touched();
}

Status CudaDevice::finish_preparing() {
  if (finished_) return {};
  parts_->products.end_trials();
  Status status = parts_->kernels.allocate_scratch();
  if (status) status = parts_->rounded.allocate();
  if (status) parts_->kernels.place_operands(parts_->rounded);
  if (status) status = parts_->segments.build();
  if (status) status = parts_->controls.build();
  finished_ = status.ok();
  return status;
}

Status CudaDevice::begin_run(RunState& run) {
  if (context_->lost()) return Error{"the GPU was lost in an earlier run; only a new process can use it again", {}, ErrorKind::machine};
  const Context::Visit visit(*context_);
  if (!visit.status()) return visit.status();
  if (Status status = finish_preparing(); !status) return status;
  parts_->faults.clear();
  streams_->begin(run);
  parts_->controls.watch(run);
  return {};
}

void CudaDevice::end_run() {
  const Context::Visit visit(*context_);  // if this fails, ending the run fails too
  streams_->end();
}

void CudaDevice::abort() {
  streams_->abort();
  parts_->controls.stop();
  parts_->mailboxes.release();
}

Status CudaDevice::launch(KernelId kernel, const Origin& origin) {
  return parts_->kernels.launch(kernel, origin);
}

Status CudaDevice::copy_to_device(Range to, const std::byte* from, const Origin& origin) {
  return parts_->memory.copy_to_device(to, from, origin);
}

Status CudaDevice::copy_to_host(std::byte* to, Range from, const Origin& origin) {
  return parts_->memory.copy_to_host(to, from, origin);
}

Status CudaDevice::copy_inside(Range to, Range from, const Origin& origin) {
  return parts_->memory.copy_inside(to, from, origin);
}

Status CudaDevice::fill(Range to, std::int32_t value, const Origin& origin) {
  return parts_->memory.fill(to, value, origin);
}

CoalescedCopies* CudaDevice::coalesced_copies() {
  return &parts_->copies;
}

Segments* CudaDevice::segments() {
  return options_.stream_mode ? nullptr : &parts_->segments;
}

Controls* CudaDevice::controls() {
  return options_.stream_mode || !CudaControls::offered_by(context_->api()) ? nullptr : &parts_->controls;
}

Mailboxes* CudaDevice::mailboxes() {
  return context_->waits_for_words() ? &parts_->mailboxes : nullptr;
}

}  // namespace cleave::runtime::cuda
