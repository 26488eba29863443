#include "executor/cuda/rounded_copies.h"

#include <algorithm>

#include "executor/cuda/kernels/rounding.h"
#include "executor/memory/arena.h"

namespace cleave::runtime::cuda {
namespace {

bool same(const Range& a, const Range& b) {
  return a.offset == b.offset && a.bytes == b.bytes;
}

}  // namespace

void RoundedCopies::keep(std::span<const Range> ranges) {
  for (const Range& range : ranges) kept_.push_back({range});
}

/// The launches that round the elements at `from`. Their second value, the destination, is set later.
Result<std::vector<PreparedLaunch>> RoundedCopies::prepare_rounding(NodeId node, const Range& from, DType narrow) {
  const RoundingRequest rounding(node, from, narrow);
  const std::optional<KernelSource> source = options_.source(rounding.request, context_.architecture());
  CLEAVE_CHECK(source, "no kernel that rounds");
  Result<PreparedKernel> kernel = kernels_.prepare(rounding.request, *source);
  if (!kernel) return kernel.error();
  return std::move(kernel->launches);
}

Status RoundedCopies::round_operands(const KernelRequest& request, const MatmulRequest& product, PreparedKernel& kernel,
                                     std::int64_t& scratch) {
  const DType narrow = operand_type(product.c_type.dtype, options_.precision);
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
      Result<std::vector<PreparedLaunch>> launches = prepare_rounding(request.node, from, narrow);
      if (!launches) return launches.error();
      for (PreparedLaunch& launch : *launches) {
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

bool RoundedCopies::kept(const Range& range) const {
  return std::any_of(kept_.begin(), kept_.end(), [&](const Kept& each) { return same(each.range, range); });
}

Result<std::size_t> RoundedCopies::keep_rounded(NodeId node, const Range& from, DType narrow) {
  const auto known = std::find_if(copies_.begin(), copies_.end(), [&](const RoundedCopy& each) { return same(each.from, from); });
  if (known != copies_.end()) return static_cast<std::size_t>(known - copies_.begin());
  Result<std::vector<PreparedLaunch>> launches = prepare_rounding(node, from, narrow);
  if (!launches) return launches.error();
  copies_.push_back({from, bytes_, *std::move(launches)});
  bytes_ += Arena::rounded(from.bytes / size_of(DType::f32) * size_of(narrow));
  return copies_.size() - 1;
}

Status RoundedCopies::allocate() {
  if (bytes_ > 0 && !memory_) {
    Result<DeviceMemory> memory = make_device_memory(context_, bytes_);
    if (!memory) return memory.error();
    memory_ = *std::move(memory);
    for (RoundedCopy& copy : copies_)
      for (PreparedLaunch& launch : copy.launches) launch.values[1] = memory_.get() + static_cast<CUdeviceptr>(copy.offset);
  }
  for (const Kept& each : kept_) {
    if (Status status = each.uploaded ? round(each.range) : Status(); !status) return status;
  }
  return {};
}

CUdeviceptr RoundedCopies::address_of(const RoundedOperand& operand, CUdeviceptr scratch) const {
  return operand.copy ? memory_.get() + static_cast<CUdeviceptr>(copies_[*operand.copy].offset)
                      : scratch + static_cast<CUdeviceptr>(operand.scratch_offset);
}

Status RoundedCopies::uploaded(Range range) {
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& each) { return same(each.range, range); });
  if (found == kept_.end()) return {};
  found->uploaded = true;
  return memory_ ? round(range) : Status();
}

Status RoundedCopies::round(Range range) {
  for (const RoundedCopy& copy : copies_) {
    if (!same(copy.from, range)) continue;
    for (const PreparedLaunch& launch : copy.launches) {
      Status status = streams_.enqueue(Stream::compute, {},
                                       [&](CUstream stream, std::uint64_t ticket) { return enqueue(context_, launch, stream, ticket); });
      if (!status) return status;
    }
  }
  return {};
}

}  // namespace cleave::runtime::cuda
