// SolverLayout: an operation of linear algebra on a batch of matrices, and where in scratch memory everything lies that it needs: from the
// request alone. SolverKernels: the kernels of our own before, between and behind the calls. Knows no library.
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
  bool upper = false;  ///< of cholesky
  std::int64_t count = 0, m = 0, n = 0, k = 0;
  std::int64_t sides = 0;  ///< of solve
  /// Bytes from the beginning of scratch memory. What is there once for each matrix lies side by side.
  std::int64_t a = 0, b = 0, vt = 0, s = 0, tau = 0, pivots = 0, info = 0, work = 0;

  explicit SolverLayout(const KernelRequest& request);
  [[nodiscard]] std::int64_t element() const { return wide ? 8 : 4; }
  [[nodiscard]] bool tall() const { return m >= n; }
};

/// `launches`: those of before, between (`qr`) and behind, one each.
KernelSource solver_kernels(const SolverLayout& layout, const KernelRequest& request);

}  // namespace cleave::runtime::cuda
