// SourceKernels: makes launches of the text of a kernel: compiles it, and fills in the addresses of its operands.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "executor/cuda/dependences.h"
#include "executor/cuda/kernel_faults.h"
#include "executor/cuda/library/library_op.h"
#include "executor/cuda/matmul/matmul.h"
#include "executor/cuda/modules.h"

namespace cleave::runtime::cuda {

/// An operand of a product that is read from a copy in a narrower type. The copy is either permanent or in scratch memory.
struct RoundedOperand {
  CUdeviceptr MatmulAddresses::*which = nullptr;
  std::optional<std::size_t> copy;  ///< the number of the permanent copy (rounded_copies.h); none: the copy is in scratch memory
  std::int64_t scratch_offset = 0;
};

/// The launches and library calls of one request.
struct PreparedKernel {
  std::vector<PreparedLaunch> launches;
  std::unique_ptr<Matmul> matmul;  ///< runs after the launches
  MatmulAddresses addresses;
  std::vector<RoundedOperand> rounded;
  std::vector<LibraryOp::Call> calls;  ///< each runs after a certain number of launches
  OperandAddresses operands;           ///< the operands of `calls`
  bool captures = true;
  Touched touched;
  std::optional<std::size_t> fault;  ///< number in KernelFaults
  std::int64_t scratch_bytes = 0;    ///< size of the scratch memory that it uses
  std::int64_t end = 0;              ///< the end of the part of the arena that it touches
  [[nodiscard]] bool empty() const { return !matmul && launches.empty() && calls.empty(); }
  /// Visits launches and calls in their order, until one fails.
  template <class OnLaunch, class OnCall>
  Status walk(OnLaunch&& on_launch, OnCall&& on_call) const {
    std::size_t call = 0;
    for (std::size_t i = 0; i <= launches.size(); ++i) {
      for (; call < calls.size() && calls[call].behind == i; ++call)
        if (Status status = on_call(*calls[call].call); !status) return status;
      if (i == launches.size()) break;
      if (Status status = on_launch(launches[i]); !status) return status;
    }
    return {};
  }
};

class SourceKernels {
 public:
  SourceKernels(const CudaMemory& memory, CudaModules& modules, KernelFaults& faults)
      : memory_(memory), modules_(modules), faults_(faults) {}

  /// The address of the scratch memory is left open.
  Result<PreparedKernel> prepare(const KernelRequest& request, const KernelSource& source);

 private:
  const CudaMemory& memory_;
  CudaModules& modules_;
  KernelFaults& faults_;
};

}  // namespace cleave::runtime::cuda
