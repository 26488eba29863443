#include "executor/cuda/products.h"

#include <algorithm>

#include "executor/memory/arena.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kMatmulWorkspace = 32 << 20;  ///< limit for cuBLASLt; its documentation recommends 32 MiB on Hopper

}  // namespace

Products::~Products() {
  if (setting_.handle && !context_.stuck()) blas_.cublasLtDestroy(setting_.handle);
}

Status Products::open() {
  if (setting_.handle) return {};
  setting_ = {&blas_, nullptr, options_.precision, kMatmulWorkspace, FileCache(options_.cache_folder, ".matmul"), context_.description()};
  return check(blas_, "cublasLtCreate", blas_.cublasLtCreate(&setting_.handle));
}

Result<PreparedKernel> Products::prepare(const KernelRequest& request) {
  if (Status status = open(); !status) return status.error();
  const std::optional<MatmulRequest> product = find_matmul(request);
  CLEAVE_CHECK(product, "no matrix product");
  PreparedKernel kernel;
  const auto input = [&](std::size_t which) { return memory_.at(request.inputs[which].offset); };
  kernel.addresses = {input(product->a), input(product->b), memory_.at(request.results[0].offset), 0};
  if (has_bias(product->epilogue)) kernel.addresses.bias = input(product->bias);
  Result<MatmulTrial> trial = trial_of(request, *product);
  if (!trial) return trial.error();
  const MatmulPlan plan = matmul_plan(*product);
  Result<std::unique_ptr<Matmul>> matmul = Matmul::prepare(setting_, plan, *trial);
  if (!matmul) return matmul.error();
  if (context_.lost()) return Error{"the GPU was lost while a matrix product was tried", {}, ErrorKind::machine};
  if (!*matmul) return kernels_.prepare(request, options_.product(request, context_.architecture()));
  kernel.matmul = *std::move(matmul);
  std::int64_t scratch = Arena::rounded(static_cast<std::int64_t>(kernel.matmul->workspace_bytes()));
  if (operand_type(plan.dtype, setting_.precision) != plan.dtype)
    if (Status status = rounded_.round_operands(request, *product, kernel, scratch); !status) return status.error();
  kernel.scratch_bytes = scratch;
  return kernel;
}

Status Products::open_trial() {
  if (trial_) return {};
  Result<DeviceMemory> workspace = make_device_memory(context_, kMatmulWorkspace);
  if (!workspace) return workspace.error();
  Result<Stopwatch> watch = Stopwatch::make(context_);
  if (!watch) return watch.error();
  trial_.emplace(Trial{*std::move(workspace), *std::move(watch), {}, 0});
  return {};
}

/// Fills the trial's operands with realistic numbers in each type that a product may have: random sign and mantissa, and exponents a little
/// below that of 1. The bits that a product moves determine its power draw, and thereby its speed.
Status Products::fill_trial(std::int64_t bytes) {
  auto* words = reinterpret_cast<std::uint16_t*>(memory_.buffer());
  std::uint32_t random = 1;
  for (std::int64_t i = 0; i < memory_.upload_bytes() / 2; ++i) {
    random = random * 1664525 + 1013904223;
    words[i] = static_cast<std::uint16_t>(((random >> 16) & 0x83FF) | 0x3C00);
  }
  return trial_->watch.once([&](CUstream stream) {
    Status status;
    for (std::int64_t done = 0; status && done < bytes; done += memory_.upload_bytes()) {
      const CUdeviceptr to = trial_->operands.get() + static_cast<CUdeviceptr>(done);
      const auto piece = static_cast<std::size_t>(std::min(memory_.upload_bytes(), bytes - done));
      status = context_.check("cuMemcpyHtoDAsync", context_.api().cuMemcpyHtoDAsync(to, memory_.buffer(), piece, stream));
    }
    return status;
  });
}

/// A trial on separate memory. If that cannot be allocated, the trial uses the product's own ranges of the arena, which may be overwritten
/// before the first run.
Result<MatmulTrial> Products::trial_of(const KernelRequest& request, const MatmulRequest& product) {
  if (Status status = open_trial(); !status) return status.error();
  Trial& with = *trial_;
  const auto operand = [&](std::size_t input) {
    const std::int64_t elements = request.input_types[input].elements();
    return Range{request.inputs[input].offset, elements * size_of(operand_type(product.c_type.dtype, setting_.precision))};
  };
  std::vector<Range> parts = {operand(product.a), operand(product.b), request.results[0]};
  if (has_bias(product.epilogue)) parts.push_back(request.inputs[product.bias]);
  std::int64_t bytes = 0;
  for (const Range& part : parts) bytes += Arena::rounded(part.bytes);
  if (bytes > with.bytes) {
    with.operands = {};
    with.bytes = 0;
    if (Result<DeviceMemory> memory = make_device_memory(context_, bytes)) {
      with.operands = *std::move(memory);
      with.bytes = bytes;
    }
  }
  MatmulTrial trial;
  trial.workspace = with.workspace.get();
  CUdeviceptr* const places[] = {&trial.addresses.a, &trial.addresses.b, &trial.addresses.c, &trial.addresses.bias};
  CUdeviceptr next = with.operands.get();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    *places[i] = with.bytes > 0 ? next : memory_.at(parts[i].offset);
    next += static_cast<CUdeviceptr>(Arena::rounded(parts[i].bytes));
  }
  trial.call = [this](const std::function<Status(CUstream)>& work) { return trial_->watch.once(work); };
  if (!setting_.kept.on()) return trial;
  trial.measure = [this, bytes, filled = false](const std::function<Status(CUstream)>& work) mutable -> Result<double> {
    if (!filled && trial_->bytes > 0) {
      if (Status status = fill_trial(bytes); !status) return status.error();
      filled = true;
    }
    return trial_->watch.seconds(work);
  };
  return trial;
}

}  // namespace cleave::runtime::cuda
