// Products: matrix products by cuBLASLt, with algorithms chosen by trials before any run, or by cleave's own kernel.
#pragma once

#include <optional>

#include "executor/cuda/rounded_copies.h"
#include "executor/cuda/stopwatch.h"

namespace cleave::runtime::cuda {

class Products {
 public:
  Products(Context& context, const BlasApi& blas, const CudaOptions& options, const CudaMemory& memory, SourceKernels& kernels,
           RoundedCopies& rounded)
      : context_(context), blas_(blas), options_(options), memory_(memory), kernels_(kernels), rounded_(rounded) {}
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;
  ~Products();

  Result<PreparedKernel> prepare(const KernelRequest& request);
  /// Frees the memory of the trials.
  void end_trials() { trial_.reset(); }

 private:
  /// Memory and stopwatch for trying algorithms before the first run.
  struct Trial {
    DeviceMemory workspace;
    Stopwatch watch;
    DeviceMemory operands;
    std::int64_t bytes = 0;  ///< size of `operands`
  };
  Status open();
  Status open_trial();
  Status fill_trial(std::int64_t bytes);
  Result<MatmulTrial> trial_of(const KernelRequest& request, const MatmulRequest& product);

  Context& context_;
  const BlasApi& blas_;
  const CudaOptions& options_;
  const CudaMemory& memory_;
  SourceKernels& kernels_;
  RoundedCopies& rounded_;
  MatmulSetting setting_;
  std::optional<Trial> trial_;
};

}  // namespace cleave::runtime::cuda
