#include "executor/cuda/cuda_kernels.h"

#include <algorithm>

namespace cleave::runtime::cuda {
namespace {

/// Stands for the shared scratch memory, beyond any arena: every step that uses scratch memory counts as writing it.
constexpr Range kScratch{std::int64_t{1} << 62, 1};

}  // namespace

void CudaKernels::announce(std::span<const KernelRequest> requests) {
  std::vector<std::string> texts;
  for (const KernelRequest& request : requests) {
    if (libraries_.libraries && has_library_op(*libraries_.libraries, request)) continue;
    if (std::optional<KernelSource> source = options_.source(request, context_.architecture())) texts.push_back(std::move(source->text));
  }
  modules_.compile(std::move(texts), options_.threads);
}

Result<KernelId> CudaKernels::prepare(KernelRequest request) {
  Result<PreparedKernel> kernel = prepare_any(request);
  if (!kernel) return kernel.error();
  for (const std::vector<Range>* ranges : {&request.inputs, &request.results})
    for (const Range& range : *ranges) kernel->end = std::max(kernel->end, range.offset + range.bytes);
  kernel->touched = {std::move(request.inputs), std::move(request.results)};
  scratch_bytes_ = std::max(scratch_bytes_, kernel->scratch_bytes);
  kernels_.push_back(*std::move(kernel));
  return KernelId(kernels_.size() - 1);
}

/// Tries an optional library, then cleave's own kernel, then cuBLASLt.
Result<PreparedKernel> CudaKernels::prepare_any(const KernelRequest& request) {
  Result<std::optional<LibraryOp>> library = prepare_library_op(libraries_, request);
  if (!library) return library.error();
  if (*library) return prepare_calls(request, **std::move(library));
  if (const std::optional<KernelSource> source = options_.source(request, context_.architecture()))
    return sources_.prepare(request, *source);
  if (has_matmul(request)) return products_.prepare(request);
  return Error{"has no CUDA kernel for these types", {}, ErrorKind::machine};
}

Result<PreparedKernel> CudaKernels::prepare_calls(const KernelRequest& request, LibraryOp op) {
  if (options_.around && !op.around.launches.empty()) options_.around(request, op.around);
  Result<PreparedKernel> kernel = sources_.prepare(request, op.around);
  if (!kernel) return kernel;
  kernel->calls = std::move(op.calls);
  kernel->captures = op.captures;
  for (const Range& range : request.inputs) kernel->operands.inputs.push_back(memory_.at(range.offset));
  for (const Range& range : request.results) kernel->operands.results.push_back(memory_.at(range.offset));
  return kernel;
}

Status CudaKernels::allocate_scratch() {
  if (scratch_ || scratch_bytes_ == 0) return {};
  Result<DeviceMemory> memory = make_device_memory(context_, scratch_bytes_);
  if (!memory) return memory.error();
  scratch_ = *std::move(memory);
  for (PreparedKernel& kernel : kernels_) {
    for (PreparedLaunch& launch : kernel.launches) {
      if (launch.scratch >= 0)
        launch.values[static_cast<std::size_t>(launch.scratch)] = scratch_.get() + static_cast<CUdeviceptr>(launch.scratch_offset);
    }
    kernel.operands.scratch = scratch_.get();
  }
  return {};
}

void CudaKernels::place_operands(const RoundedCopies& rounded) {
  for (PreparedKernel& kernel : kernels_)
    for (const RoundedOperand& operand : kernel.rounded) kernel.addresses.*operand.which = rounded.address_of(operand, scratch_.get());
}

Status CudaKernels::launch(KernelId id, const Origin& origin) {
  const PreparedKernel& kernel = kernels_[id.index];
  memory_.touch(kernel.end);
  if (kernel.empty()) return {};
  return streams_.enqueue(Stream::compute, origin, [&](CUstream stream, std::uint64_t ticket) -> Status {
    Status status = kernel.walk([&](const PreparedLaunch& launch) { return enqueue(context_, launch, stream, ticket); },
                                [&](LibraryCall& call) { return call.enqueue(stream, kernel.operands); });
    return status && kernel.matmul ? kernel.matmul->launch(stream, kernel.addresses, scratch_.get()) : status;
  });
}

std::int64_t CudaKernels::join(const std::vector<DeviceStep>& steps) {
  std::int64_t end = 0;
  for (const DeviceStep& step : steps) {
    end = std::max(end, step.to.offset + step.to.bytes);
    if (!step.kernel.valid()) continue;
    const PreparedKernel& kernel = kernels_[step.kernel.index];
    end = std::max(end, kernel.end);
    if (kernel.fault) faults_.set_order(*kernel.fault, step.order);
  }
  return end;
}

Touched CudaKernels::touched_by(const DeviceStep& step) const {
  if (!step.kernel.valid()) return {{step.from}, {step.to}};
  const PreparedKernel& kernel = kernels_[step.kernel.index];
  Touched touched = kernel.touched;
  const bool scratch =
      (kernel.matmul && kernel.matmul->workspace_bytes() > 0) || !kernel.calls.empty() ||
      std::any_of(kernel.launches.begin(), kernel.launches.end(), [](const PreparedLaunch& each) { return each.scratch >= 0; });
  if (scratch) touched.writes.push_back(kScratch);
  return touched;
}

/// A kernel that checks its data gets the number of its command at each launch, so that a fault can be traced to its command. Its node's
/// parameters are therefore set before each launch of the graph; launches in flight are not affected.
Status CudaKernels::add_step(SegmentGraph& graph, const DeviceStep& step, std::uint64_t ticket, std::vector<NumberedNode>* numbered) const {
  if (!step.kernel.valid()) return graph.add_copy(memory_.at(step.to.offset), memory_.at(step.from.offset), step.to.bytes);
  const PreparedKernel& kernel = kernels_[step.kernel.index];
  const auto add_launch = [&](const PreparedLaunch& launch) -> Status {
    LaunchParameters parameters(launch, ticket);
    Result<CUgraphNode> node = graph.add_kernel(as_node(launch, parameters));
    if (!node) return node.error();
    if (launch.ticket >= 0 && numbered) numbered->push_back({*node, &launch});
    return {};
  };
  Status status = kernel.walk(add_launch, [&](LibraryCall& call) {
    return graph.add_captured([&](CUstream stream) { return call.enqueue(stream, kernel.operands); });
  });
  if (!status || !kernel.matmul) return status;
  return graph.add_captured([&](CUstream stream) { return kernel.matmul->launch(stream, kernel.addresses, scratch_.get()); });
}

}  // namespace cleave::runtime::cuda
