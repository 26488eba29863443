// SolverLayout: an operation of linear algebra on a batch of matrices, and its buffers' offsets in scratch memory, computed from the
// request alone. `solver_kernels`: cleave's own kernels before, between and after the library calls. Knows no library.
#pragma once

#include <optional>

#include "executor/cuda/kernel_source.h"
#include "graph/ops/matrices.h"

namespace cleave::runtime::cuda {

enum class SolverOp : std::uint8_t { solve, inverse, determinant, log_determinant, cholesky, qr, eigen, eigenvalues, svd, singular_values };
std::optional<SolverOp> solver_op(const OpDef& op);

struct SolverLayout {
  SolverOp op;
  bool wide = false;   ///< f64
  bool upper = false;  ///< cholesky: wants the upper factor
  std::int64_t count = 0, m = 0, n = 0, k = 0;
  std::int64_t sides = 0;  ///< solve: the number of right-hand sides
  /// Offsets in bytes from the start of scratch memory. Buffers that exist for each matrix are adjacent, in the order of the batch.
  std::int64_t a = 0, b = 0, vt = 0, s = 0, tau = 0, pivots = 0, info = 0, work = 0;

  explicit SolverLayout(const KernelRequest& request);
  [[nodiscard]] std::int64_t element() const { return wide ? 8 : 4; }
  [[nodiscard]] bool tall() const { return m >= n; }
};

/// One launch each before the calls, between them (only `qr`), and after them.
KernelSource solver_kernels(const SolverLayout& layout, const KernelRequest& request);

}  // namespace cleave::runtime::cuda
