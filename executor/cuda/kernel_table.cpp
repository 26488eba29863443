// The table of CUDA kernels, by op.
#include <unordered_map>

#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/matmul/matmul.h"
#include "graph/vocabulary.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::size_t kMostParameters = 128;  ///< operands that fit into the parameters of a kernel beside its constants

}  // namespace

// cuFFT and cuSOLVER compute these (executor/cuda/library), without a generated kernel.
constexpr KernelRow rows::fft = kHostOnly;
constexpr KernelRow rows::ifft = kHostOnly;
constexpr KernelRow rows::rfft = kHostOnly;
constexpr KernelRow rows::irfft = kHostOnly;
constexpr KernelRow rows::solve = kHostOnly;
constexpr KernelRow rows::inv = kHostOnly;
constexpr KernelRow rows::det = kHostOnly;
constexpr KernelRow rows::slogdet = kHostOnly;
constexpr KernelRow rows::cholesky = kHostOnly;
constexpr KernelRow rows::qr = kHostOnly;
constexpr KernelRow rows::eigh = kHostOnly;
constexpr KernelRow rows::eigvalsh = kHostOnly;
constexpr KernelRow rows::svd = kHostOnly;
constexpr KernelRow rows::svdvals = kHostOnly;

// Walks of trees branch with the data, from one load to the next, and are for the host.
constexpr KernelRow rows::tree_ensemble = kHostOnly;

// Effects, and calls of the user's functions.
constexpr KernelRow rows::print = kHostOnly;
constexpr KernelRow rows::log_metric = kHostOnly;
constexpr KernelRow rows::write_npy = kHostOnly;
constexpr KernelRow rows::host_call = kHostOnly;

const KernelRow& kernel_row(const OpDef& op) {
  static const std::unordered_map<const OpDef*, const KernelRow*> table = {
// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define CLEAVE_OP(name) {&op::name, &rows::name},
#include "graph/vocabulary.list"
      // NOLINTEND(cppcoreguidelines-macro-usage)
  };
  const auto found = table.find(&op);
  return found == table.end() ? kHostOnly : *found->second;
}

bool has_kernel(const KernelRequest& request) {
  if (has_matmul(request)) return false;  // cuBLASLt computes it, with everything fused into it
  const KernelRow& row = kernel_row(*request.op);
  return row.build && request.input_types.size() + request.result_types.size() <= kMostParameters && (!row.takes || row.takes(request));
}

std::optional<KernelSource> kernel_source(const KernelRequest& request, const Architecture& architecture) {
  if (!has_kernel(request)) return std::nullopt;
  return kernel_row(*request.op).build(request, architecture);
}

}  // namespace cleave::runtime::cuda
