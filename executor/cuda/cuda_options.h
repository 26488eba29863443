// The libraries and settings of one CudaDevice, which its parts share.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "executor/cuda/compiler.h"
#include "executor/cuda/kernels/coalesced_copy.h"
#include "executor/cuda/kernels/product.h"
#include "executor/cuda/library/library_op.h"
#include "executor/cuda/matmul/blas_api.h"
#include "executor/cuda/streams.h"

namespace cleave::runtime::cuda {

/// The libraries and contexts that are opened at run time.
struct Api {
  DriverApi driver;
  CompilerApi compiler;
  BlasApi blas;
  std::shared_ptr<const Libraries> libraries = nullptr;  ///< the optional libraries; null: none of them
  std::shared_ptr<Contexts> contexts = nullptr;          ///< the contexts of the process; null: the device opens its own context
};

struct CudaOptions {
  int ordinal = 0;
  Precision precision = Precision::f32;
  std::string cache_folder = default_cache_folder();
  CudaStreams::Options streams;
  int threads = 0;                      ///< number of threads that compile kernels; 0: as many cores as this process may use
  bool stream_mode = false;             ///< every launch is enqueued separately, without segments, to find the source of an error
  std::int64_t upload_bytes = 4 << 20;  ///< size of each of the two page-locked buffers for uploads
  std::function<std::optional<KernelSource>(const KernelRequest&, const Architecture&)> source = kernel_source;
  /// Makes the kernel of a product for which cuBLASLt has no algorithm.
  std::function<KernelSource(const KernelRequest&, const Architecture&)> product = product_source;
  std::function<KernelSource(std::span<const Piece>, bool unpacks)> coalesced_copy = coalesced_copy_source;
  /// Sees, and may change, the kernels around a library's calls; may be null.
  std::function<void(const KernelRequest&, KernelSource&)> around;
};

}  // namespace cleave::runtime::cuda
