// RoundedCopies: the operands of matrix products in the narrower type in which a product takes them. Operands that only `upload` writes
// have a permanent copy, which is made at the upload; others are rounded before each product, into scratch memory.
#pragma once

#include <span>
#include <vector>

#include "executor/cuda/cuda_options.h"
#include "executor/cuda/source_kernels.h"

namespace cleave::runtime::cuda {

class RoundedCopies {
 public:
  RoundedCopies(Context& context, CudaStreams& streams, const CudaOptions& options, SourceKernels& kernels)
      : context_(context), streams_(streams), options_(options), kernels_(kernels) {}

  /// Only `upload` writes to these ranges of the arena.
  void keep(std::span<const Range> ranges);
  /// Makes the kernel's product read its operands rounded. `scratch`: the size of the kernel's scratch memory so far.
  Status round_operands(const KernelRequest& request, const MatmulRequest& product, PreparedKernel& kernel, std::int64_t& scratch);
  /// Before the first run: allocates memory for all permanent copies, and rounds the ranges that are uploaded already.
  Status allocate();
  /// Must be called after each upload.
  Status uploaded(Range range);
  /// Once the memory is allocated: where a product finds its operand.
  [[nodiscard]] CUdeviceptr address_of(const RoundedOperand& operand, CUdeviceptr scratch) const;

 private:
  /// A part of the arena that only `upload` writes.
  struct Kept {
    Range range;
    bool uploaded = false;
  };
  /// A permanent copy of a Kept range in a narrower type.
  struct RoundedCopy {
    Range from;
    std::int64_t offset = 0;  ///< in memory_
    std::vector<PreparedLaunch> launches;
  };
  Result<std::vector<PreparedLaunch>> prepare_rounding(NodeId node, const Range& from, DType narrow);
  /// Whether this is exactly a range that only `upload` writes; else kernels may write there.
  [[nodiscard]] bool kept(const Range& range) const;
  Result<std::size_t> keep_rounded(NodeId node, const Range& from, DType narrow);
  Status round(Range range);

  Context& context_;
  CudaStreams& streams_;
  const CudaOptions& options_;
  SourceKernels& kernels_;
  std::vector<Kept> kept_;
  std::vector<RoundedCopy> copies_;
  std::int64_t bytes_ = 0;
  DeviceMemory memory_;
};

}  // namespace cleave::runtime::cuda
