// CudaDevice's matrix products: by cuBLASLt, with algorithms chosen by trials before any run, or by cleave's own kernel. Operands are
// rounded to the type in which a product takes them: operands that only `upload` writes at the upload, others before each product, into
// scratch memory.
#include <algorithm>

#include "executor/cuda/cuda_device.h"
#include "executor/cuda/kernels/rounding.h"
#include "executor/memory/arena.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kMatmulWorkspace = 32 << 20;  ///< limit for cuBLASLt; its documentation recommends 32 MiB on Hopper

bool same(const Range& a, const Range& b) {
  return a.offset == b.offset && a.bytes == b.bytes;
}

}  // namespace

Status CudaDevice::open_matmuls() {
  if (matmuls_.handle) return {};
  matmuls_ = {
      &api_.blas, nullptr, options_.precision, kMatmulWorkspace, FileCache(options_.cache_folder, ".matmul"), context_->description()};
  return check(api_.blas, "cublasLtCreate", api_.blas.cublasLtCreate(&matmuls_.handle));
}

Result<CudaDevice::PreparedKernel> CudaDevice::prepare_matmul(const KernelRequest& request) {
  if (Status status = open_matmuls(); !status) return status.error();
  const std::optional<MatmulRequest> product = find_matmul(request);
  CLEAVE_CHECK(product, "no matrix product");
  PreparedKernel kernel;
  const auto input = [&](std::size_t which) { return at(request.inputs[which].offset); };
  kernel.addresses = {input(product->a), input(product->b), at(request.results[0].offset), 0};
  if (has_bias(product->epilogue)) kernel.addresses.bias = input(product->bias);
  Result<MatmulTrial> trial = matmul_trial(request, *product);
  if (!trial) return trial.error();
  const MatmulPlan plan = matmul_plan(*product);
  Result<std::unique_ptr<Matmul>> matmul = Matmul::prepare(matmuls_, plan, *trial);
  if (!matmul) return matmul.error();
  if (context_->lost()) return Error{"the GPU was lost while a matrix product was tried", {}, ErrorKind::machine};
  if (!*matmul) return prepare_source(request, options_.product(request, context_->architecture()));
  kernel.matmul = *std::move(matmul);
  std::int64_t scratch = Arena::rounded(static_cast<std::int64_t>(kernel.matmul->workspace_bytes()));
  if (operand_type(plan.dtype, matmuls_.precision) != plan.dtype)
    if (Status status = round_operands(request, *product, kernel, scratch); !status) return status.error();
  scratch_bytes_ = std::max(scratch_bytes_, scratch);
  return kernel;
}

Status CudaDevice::open_trial() {
  if (trial_) return {};
  Result<DeviceMemory> workspace = make_device_memory(*context_, kMatmulWorkspace);
  if (!workspace) return workspace.error();
  Result<Stopwatch> watch = Stopwatch::make(*context_);
  if (!watch) return watch.error();
  trial_.emplace(Trial{*std::move(workspace), *std::move(watch), {}, 0});
  return {};
}

/// Fills the trial's operands with realistic numbers in each type that a product may have: random sign and mantissa, and exponents a little
/// below that of 1. The bits that a product moves determine its power draw, and thereby its speed.
Status CudaDevice::fill_trial(std::int64_t bytes) {
  auto* words = reinterpret_cast<std::uint16_t*>(bounce_[0]);
  std::uint32_t random = 1;
  for (std::int64_t i = 0; i < options_.upload_bytes / 2; ++i) {
    random = random * 1664525 + 1013904223;
    words[i] = static_cast<std::uint16_t>(((random >> 16) & 0x83FF) | 0x3C00);
  }
  return trial_->watch.once([&](CUstream stream) {
    Status status;
    for (std::int64_t done = 0; status && done < bytes; done += options_.upload_bytes) {
      const CUdeviceptr to = trial_->operands.get() + static_cast<CUdeviceptr>(done);
      const auto piece = static_cast<std::size_t>(std::min(options_.upload_bytes, bytes - done));
      status = context_->check("cuMemcpyHtoDAsync", driver().cuMemcpyHtoDAsync(to, bounce_[0], piece, stream));
    }
    return status;
  });
}

/// A trial on separate memory. If that cannot be allocated, the trial uses the product's own ranges of the arena, which may be overwritten
/// before the first run.
Result<MatmulTrial> CudaDevice::matmul_trial(const KernelRequest& request, const MatmulRequest& product) {
  if (Status status = open_trial(); !status) return status.error();
  Trial& with = *trial_;
  const auto operand = [&](std::size_t input) {
    const std::int64_t elements = request.input_types[input].elements();
    return Range{request.inputs[input].offset, elements * size_of(operand_type(product.c_type.dtype, matmuls_.precision))};
  };
  std::vector<Range> parts = {operand(product.a), operand(product.b), request.results[0]};
  if (has_bias(product.epilogue)) parts.push_back(request.inputs[product.bias]);
  std::int64_t bytes = 0;
  for (const Range& part : parts) bytes += Arena::rounded(part.bytes);
  if (bytes > with.bytes) {
    with.operands = {};
    with.bytes = 0;
    if (Result<DeviceMemory> memory = make_device_memory(*context_, bytes)) {
      with.operands = *std::move(memory);
      with.bytes = bytes;
    }
  }
  MatmulTrial trial;
  trial.workspace = with.workspace.get();
  CUdeviceptr* const places[] = {&trial.addresses.a, &trial.addresses.b, &trial.addresses.c, &trial.addresses.bias};
  CUdeviceptr next = with.operands.get();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    *places[i] = with.bytes > 0 ? next : at(parts[i].offset);
    next += static_cast<CUdeviceptr>(Arena::rounded(parts[i].bytes));
  }
  trial.call = [this](const std::function<Status(CUstream)>& work) { return trial_->watch.once(work); };
  if (!matmuls_.kept.on()) return trial;
  trial.measure = [this, bytes, filled = false](const std::function<Status(CUstream)>& work) mutable -> Result<double> {
    if (!filled && trial_->bytes > 0) {
      if (Status status = fill_trial(bytes); !status) return status.error();
      filled = true;
    }
    return trial_->watch.seconds(work);
  };
  return trial;
}

/// The launches that round the elements at `from`. Their second value, the destination, is set later.
Result<std::vector<CudaDevice::Launch>> CudaDevice::prepare_rounding(NodeId node, const Range& from, DType narrow) {
  const RoundingRequest rounding(node, from, narrow);
  const std::optional<KernelSource> source = options_.source(rounding.request, context_->architecture());
  CLEAVE_CHECK(source, "no kernel that rounds");
  Result<PreparedKernel> kernel = prepare_source(rounding.request, *source);
  if (!kernel) return kernel.error();
  return std::move(kernel->launches);
}

Status CudaDevice::round_operands(const KernelRequest& request, const MatmulRequest& product, PreparedKernel& kernel,
                                  std::int64_t& scratch) {
  const DType narrow = operand_type(product.c_type.dtype, matmuls_.precision);
  const std::pair<std::size_t, CUdeviceptr MatmulAddresses::*> operands[] = {{product.a, &MatmulAddresses::a},
                                                                             {product.b, &MatmulAddresses::b}};
  for (const auto& [input, which] : operands) {
    const Range& from = request.inputs[input];
    if (kept(from)) {
      Result<std::size_t> copy = keep_rounded(request.node, from, narrow);
      if (!copy) return copy.error();
      kernel.rounded.push_back({which, *copy, 0});
    } else if (which == &MatmulAddresses::b && same(from, request.inputs[product.a])) {
      kernel.rounded.push_back({which, {}, kernel.rounded[0].scratch_offset});
    } else {
      Result<std::vector<Launch>> launches = prepare_rounding(request.node, from, narrow);
      if (!launches) return launches.error();
      for (Launch& launch : *launches) {
        launch.scratch = 1;
        launch.scratch_offset = scratch;
        kernel.launches.push_back(std::move(launch));
      }
      kernel.rounded.push_back({which, {}, scratch});
      scratch += Arena::rounded(from.bytes / size_of(product.c_type.dtype) * size_of(narrow));
    }
  }
  return {};
}

const CudaDevice::Kept* CudaDevice::kept(const Range& range) const {
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& each) { return same(each.range, range); });
  return found == kept_.end() ? nullptr : &*found;
}

Result<std::size_t> CudaDevice::keep_rounded(NodeId node, const Range& from, DType narrow) {
  const auto known = std::find_if(rounded_.begin(), rounded_.end(), [&](const RoundedCopy& each) { return same(each.from, from); });
  if (known != rounded_.end()) return static_cast<std::size_t>(known - rounded_.begin());
  Result<std::vector<Launch>> launches = prepare_rounding(node, from, narrow);
  if (!launches) return launches.error();
  rounded_.push_back({from, rounded_bytes_, *std::move(launches)});
  rounded_bytes_ += Arena::rounded(from.bytes / size_of(DType::f32) * size_of(narrow));
  return rounded_.size() - 1;
}

/// Allocates memory for all rounded copies, and rounds the ranges that are uploaded already.
Status CudaDevice::allocate_rounded() {
  if (rounded_bytes_ > 0 && !rounded_memory_) {
    Result<DeviceMemory> memory = make_device_memory(*context_, rounded_bytes_);
    if (!memory) return memory.error();
    rounded_memory_ = *std::move(memory);
    for (RoundedCopy& copy : rounded_)
      for (Launch& launch : copy.launches) launch.values[1] = rounded_memory_.get() + static_cast<CUdeviceptr>(copy.offset);
  }
  for (PreparedKernel& kernel : kernels_) {
    for (const RoundedOperand& operand : kernel.rounded) {
      kernel.addresses.*operand.which = operand.copy ? rounded_memory_.get() + static_cast<CUdeviceptr>(rounded_[*operand.copy].offset)
                                                     : scratch_.get() + static_cast<CUdeviceptr>(operand.scratch_offset);
    }
  }
  for (const Kept& each : kept_) {
    if (Status status = each.uploaded ? round(each.range) : Status(); !status) return status;
  }
  return {};
}

Status CudaDevice::round_uploaded(Range range) {
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& each) { return same(each.range, range); });
  if (found == kept_.end()) return {};
  found->uploaded = true;
  return rounded_memory_ ? round(range) : Status();
}

Status CudaDevice::round(Range range) {
  for (const RoundedCopy& copy : rounded_) {
    if (!same(copy.from, range)) continue;
    for (const Launch& launch : copy.launches) {
      Status status =
          streams_->enqueue(Stream::compute, {}, [&](CUstream stream, std::uint64_t ticket) { return launch_one(launch, stream, ticket); });
      if (!status) return status;
    }
  }
  return {};
}

}  // namespace cleave::runtime::cuda
