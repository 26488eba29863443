#include "executor/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "executor/memory/arena.h"
#include "graph/base/units.h"

namespace cleave::runtime::cuda {
namespace {

constexpr unsigned kSharedWithoutAsking = 48 << 10;

std::size_t size(std::int64_t bytes) {
  return static_cast<std::size_t>(bytes);
}

std::string with_number(const std::string& text, std::int64_t number) {
  const std::size_t place = text.find("{}");
  return place == std::string::npos ? text : text.substr(0, place) + std::to_string(number) + text.substr(place + 2);
}

}  // namespace

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
  compiler_ = *std::move(compiler);
  Result<std::unique_ptr<CudaStreams>> streams = CudaStreams::open(*context_, options_.streams);
  if (!streams) return streams.error();
  streams_ = *std::move(streams);
  streams_->watch_faults([this] { return find_fault(); });
  staging_.emplace(*context_);
  for (std::byte*& piece : bounce_) {
    Result<std::byte*> memory = staging_->take(options_.upload_bytes);
    if (!memory) return memory.error();
    piece = *memory;
  }
  return {};
}

CudaDevice::~CudaDevice() {
  if (!context_) return;
  // If this fails, the calls that free fail too, and nothing can be done about it.
  ending_.emplace(*context_);
  if (streams_) streams_->end();
  if (context_->stuck()) return;
  if (matmuls_.handle) api_.blas.cublasLtDestroy(matmuls_.handle);
}

Status CudaDevice::allocate(std::int64_t bytes) {
  const Context::Visit visit(*context_);
  if (!visit.status()) return visit.status();
  Result<DeviceMemory> memory = make_device_memory(*context_, std::max<std::int64_t>(bytes, Arena::kAlignment));
  if (!memory)
    return Error{
        "no room for " + format_bytes(static_cast<double>(bytes)) + " on the GPU: " + memory.error().message, {}, ErrorKind::machine};
  arena_ = *std::move(memory);
  return {};
}

Result<std::byte*> CudaDevice::allocate_staging(std::int64_t bytes) {
  const Context::Visit visit(*context_);
  if (!visit.status()) return visit.status().error();
  return staging_->take(bytes);
}

Result<KernelId> CudaDevice::prepare(KernelRequest request) {
  const Context::Visit visit(*context_);
  if (!visit.status()) return visit.status().error();
  Result<PreparedKernel> kernel = prepare_any(request);
  if (!kernel) return kernel.error();
  for (const std::vector<Range>* ranges : {&request.inputs, &request.results})
    for (const Range& range : *ranges) kernel->end = std::max(kernel->end, range.offset + range.bytes);
  kernel->touched = {std::move(request.inputs), std::move(request.results)};
  kernels_.push_back(*std::move(kernel));
  return KernelId(kernels_.size() - 1);
}

/// Tries an optional library, then cleave's own kernel, then cuBLASLt.
Result<CudaDevice::PreparedKernel> CudaDevice::prepare_any(const KernelRequest& request) {
  libraries_.libraries = api_.libraries.get();
  libraries_.context = context_.get();
  Result<std::optional<LibraryOp>> library = prepare_library_op(libraries_, request);
  if (!library) return library.error();
  if (*library) return prepare_calls(request, **std::move(library));
  if (const std::optional<KernelSource> source = options_.source(request, context_->architecture()))
    return prepare_source(request, *source);
  if (has_matmul(request)) return prepare_matmul(request);
  return Error{"has no CUDA kernel for these types", {}, ErrorKind::machine};
}

Result<CudaDevice::PreparedKernel> CudaDevice::prepare_calls(const KernelRequest& request, LibraryOp op) {
  if (options_.around && !op.around.launches.empty()) options_.around(request, op.around);
  Result<PreparedKernel> kernel = prepare_source(request, op.around);
  if (!kernel) return kernel;
  kernel->calls = std::move(op.calls);
  kernel->captures = op.captures;
  for (const Range& range : request.inputs) kernel->operands.inputs.push_back(at(range.offset));
  for (const Range& range : request.results) kernel->operands.results.push_back(at(range.offset));
  return kernel;
}

Result<CudaDevice::PreparedKernel> CudaDevice::prepare_source(const KernelRequest& request, const KernelSource& source) {
  PreparedKernel kernel;
  std::vector<std::uint64_t> operands;
  for (const Range& range : request.inputs) operands.push_back(at(range.offset));
  for (const Range& range : request.results) operands.push_back(at(range.offset));
  const int scratch = source.scratch_bytes > 0 ? static_cast<int>(operands.size()) : -1;
  if (scratch >= 0) operands.push_back(0);  // set by finish_preparing
  scratch_bytes_ = std::max(scratch_bytes_, source.scratch_bytes);
  int ticket = -1;
  if (!source.fault.empty() && !source.launches.empty()) {
    Result<std::byte*> words = staging_->take(2 * sizeof(std::uint64_t));
    if (!words) return words.error();
    std::memset(*words, 0, 2 * sizeof(std::uint64_t));
    CUdeviceptr address = 0;
    Status status = context_->check("cuMemHostGetDevicePointer", driver().cuMemHostGetDevicePointer(&address, *words, 0));
    if (!status) return status.error();
    kernel.fault = faults_.size();
    faults_.push_back({reinterpret_cast<std::uint64_t*>(*words), source.fault, source.describe_fault, request.node, {}});
    operands.push_back(address);
    ticket = static_cast<int>(operands.size());
    operands.push_back(0);
  }
  for (const KernelLaunch& shape : source.launches) {
    Result<CUfunction> entry = function(source.text, shape);
    if (!entry) return entry.error();
    Launch launch{*entry, shape, operands, scratch, ticket};
    if (Status status = fit_grid(launch); !status) return status.error();
    for (const std::int64_t constant : shape.constants) launch.values.push_back(static_cast<std::uint64_t>(constant));
    kernel.launches.push_back(std::move(launch));
  }
  return kernel;
}

Result<CUfunction> CudaDevice::function(const std::string& text, const KernelLaunch& launch) {
  auto known = modules_.find(text);
  if (known == modules_.end()) {
    Result<std::string> image = compiler_->image(text);
    if (!image) return image.error();
    Result<ModuleHandle> module = make_module(*context_, image->data());
    if (!module) return module.error();
    known = modules_.emplace(text, *std::move(module)).first;
  }
  CUfunction entry = nullptr;
  Status status = context_->check("cuModuleGetFunction", driver().cuModuleGetFunction(&entry, known->second.get(), launch.entry.c_str()));
  if (status && launch.shared_bytes > kSharedWithoutAsking) {
    status = context_->check("cuFuncSetAttribute", driver().cuFuncSetAttribute(entry, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                                               static_cast<int>(launch.shared_bytes)));
  }
  if (!status) return status.error();
  return entry;
}

/// Limits a kernel whose blocks loop until all work is done to the blocks that run at once. Further blocks would start when the first ones
/// end, and find little left to do.
Status CudaDevice::fit_grid(Launch& launch) const {
  unsigned& blocks_asked = launch.shape.grid[0];
  const auto& block = launch.shape.block;
  const auto multiprocessors = static_cast<unsigned>(context_->architecture().multiprocessors);
  if (!launch.shape.any_grid || blocks_asked <= multiprocessors) return {};
  int blocks = 0;
  const auto threads = static_cast<int>(block[0] * block[1] * block[2]);
  Status status =
      context_->check("cuOccupancyMaxActiveBlocksPerMultiprocessor",
                      driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launch.function, threads, launch.shape.shared_bytes));
  if (status) blocks_asked = std::min(blocks_asked, static_cast<unsigned>(std::max(blocks, 1)) * multiprocessors);
  return status;
}

Status CudaDevice::finish_preparing() {
  if (finished_) return {};
  trial_.reset();
  Status status = allocate_scratch();
  if (status) status = allocate_rounded();
  for (PreparedSegment& segment : segments_) {
    if (status && !segment.graph) status = build(segment);
  }
  if (status) status = open_controls();
  finished_ = status.ok();
  return status;
}

Status CudaDevice::allocate_scratch() {
  if (scratch_ || scratch_bytes_ == 0) return {};
  Result<DeviceMemory> memory = make_device_memory(*context_, scratch_bytes_);
  if (!memory) return memory.error();
  scratch_ = *std::move(memory);
  for (PreparedKernel& kernel : kernels_) {
    for (Launch& launch : kernel.launches) {
      if (launch.scratch >= 0)
        launch.values[static_cast<std::size_t>(launch.scratch)] = scratch_.get() + static_cast<CUdeviceptr>(launch.scratch_offset);
    }
    kernel.operands.scratch = scratch_.get();
  }
  return {};
}

Status CudaDevice::begin_run(RunState& run) {
  if (context_->lost()) return Error{"the GPU was lost in an earlier run; only a new process can use it again", {}, ErrorKind::machine};
  const Context::Visit visit(*context_);
  if (!visit.status()) return visit.status();
  if (Status status = finish_preparing(); !status) return status;
  for (const FaultWords& fault : faults_) std::atomic_ref(fault.words[0]).store(0, std::memory_order_relaxed);
  streams_->begin(run);
  watch_controls(run);
  return {};
}

Status CudaDevice::prepare_to_measure() {
  const Context::Visit visit(*context_);
  return visit.status() ? streams_->prepare_to_measure() : visit.status();
}

Result<bool> CudaDevice::measure() {
  if (Status status = streams_->measure(); !status) return status.error();
  return true;
}

void CudaDevice::end_run() {
  const Context::Visit visit(*context_);  // if this fails, ending the run fails too
  streams_->end();
}

std::optional<CudaStreams::DataFault> CudaDevice::find_fault() const {
  std::optional<CudaStreams::DataFault> first;
  for (const FaultWords& fault : faults_) {
    const std::uint64_t ticket = fault.ticket();
    if (ticket == 0 || (first && std::tie(first->sequence, first->order) <= std::tie(ticket, fault.order))) continue;
    const auto number = static_cast<std::int64_t>(fault.words[1]);
    first = {
        ticket, {fault.describe ? fault.describe(number) : with_number(fault.text, number), {}, ErrorKind::user}, fault.node, fault.order};
  }
  return first;
}

void CudaDevice::touch(std::int64_t end) {
  touched_ = std::max(touched_, Arena::rounded(end));
}

Status CudaDevice::upload(Range to, const std::byte* from, bool page_locked) {
  const Context::Visit visit(*context_);
  if (!visit.status()) return visit.status();
  Status status = page_locked ? upload_at_once(to, from) : upload_in_pieces(to, from);
  return status ? round_uploaded(to) : status;
}

Status CudaDevice::upload_at_once(Range to, const std::byte* from) {
  Status status = copy_to_device(to, from, {});
  return status ? streams_->synchronize(record(Stream::to_device)) : status;
}

Status CudaDevice::upload_in_pieces(Range to, const std::byte* from) {
  Event done[2];
  std::int64_t moved = 0;
  for (std::size_t i = 0; moved < to.bytes; i = 1 - i) {
    if (Status status = streams_->synchronize(done[i]); !status) return status;
    const Range piece{to.offset + moved, std::min(options_.upload_bytes, to.bytes - moved)};
    std::memcpy(bounce_[i], from + moved, size(piece.bytes));
    if (Status status = copy_to_device(piece, bounce_[i], {}); !status) return status;
    done[i] = streams_->record(Stream::to_device);
    moved += piece.bytes;
  }
  for (const Event& event : done) {
    if (Status status = streams_->synchronize(event); !status) return status;
  }
  return {};
}

CudaDevice::Parameters::Parameters(const Launch& launch, std::uint64_t& ticket) {
  CLEAVE_CHECK(launch.values.size() <= std::size(all), "a kernel with too many parameters");
  for (std::size_t i = 0; i < launch.values.size(); ++i) all[i] = const_cast<std::uint64_t*>(&launch.values[i]);
  if (launch.ticket >= 0) all[launch.ticket] = &ticket;
}

Status CudaDevice::launch_one(const Launch& launch, CUstream stream, std::uint64_t ticket) const {
  const auto& [grid, block] = std::tie(launch.shape.grid, launch.shape.block);
  return context_->check("cuLaunchKernel",
                         driver().cuLaunchKernel(launch.function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                                 launch.shape.shared_bytes, stream, Parameters(launch, ticket).all, nullptr));
}

Status CudaDevice::launch(KernelId id, const Origin& origin) {
  const PreparedKernel& kernel = kernels_[id.index];
  touch(kernel.end);
  if (kernel.empty()) return {};
  return streams_->enqueue(Stream::compute, origin, [&](CUstream stream, std::uint64_t ticket) -> Status {
    Status status = kernel.walk([&](const Launch& launch) { return launch_one(launch, stream, ticket); },
                                [&](LibraryCall& call) { return call.enqueue(stream, kernel.operands); });
    return status && kernel.matmul ? kernel.matmul->launch(stream, kernel.addresses, scratch_.get()) : status;
  });
}

Status CudaDevice::launch_segment(SegmentId id, const Origin& origin) {
  const PreparedSegment& segment = segments_[id.index];
  touch(segment.end);
  if (!segment.graph) return {};
  const auto launch = [&](CUstream stream, std::uint64_t number) -> Status {
    for (const NumberedNode& each : segment.numbered) {
      Parameters parameters(*each.launch, number);
      const CUDA_KERNEL_NODE_PARAMS node = as_node(*each.launch, parameters);
      Status status =
          context_->check("cuGraphExecKernelNodeSetParams", driver().cuGraphExecKernelNodeSetParams(segment.graph.get(), each.node, &node));
      if (!status) return status;
    }
    return context_->check("cuGraphLaunch", driver().cuGraphLaunch(segment.graph.get(), stream));
  };
  return streams_->enqueue(Stream::compute, origin, launch, segment.steps.size());
}

Status CudaDevice::copy_to_device(Range to, const std::byte* from, const Origin& origin) {
  if (to.bytes == 0) return {};
  touch(to.offset + to.bytes);
  return streams_->enqueue(Stream::to_device, origin, [&](CUstream stream, std::uint64_t) {
    return context_->check("cuMemcpyHtoDAsync", driver().cuMemcpyHtoDAsync(at(to.offset), from, size(to.bytes), stream));
  });
}

Status CudaDevice::copy_to_host(std::byte* to, Range from, const Origin& origin) {
  if (from.bytes == 0) return {};
  return streams_->enqueue(Stream::to_host, origin, [&](CUstream stream, std::uint64_t) {
    return context_->check("cuMemcpyDtoHAsync", driver().cuMemcpyDtoHAsync(to, at(from.offset), size(from.bytes), stream));
  });
}

Status CudaDevice::copy_inside(Range to, Range from, const Origin& origin) {
  if (to.bytes == 0) return {};
  touch(to.offset + to.bytes);
  return streams_->enqueue(Stream::compute, origin, [&](CUstream stream, std::uint64_t) {
    return context_->check("cuMemcpyDtoDAsync", driver().cuMemcpyDtoDAsync(at(to.offset), at(from.offset), size(to.bytes), stream));
  });
}

Status CudaDevice::fill(Range to, std::int32_t value, const Origin& origin) {
  if (to.bytes == 0) return {};
  touch(to.offset + to.bytes);
  return streams_->enqueue(Stream::compute, origin, [&](CUstream stream, std::uint64_t) {
    return context_->check("cuMemsetD32Async",
                           driver().cuMemsetD32Async(at(to.offset), static_cast<unsigned>(value), size(to.bytes / 4), stream));
  });
}

}  // namespace cleave::runtime::cuda
