// ImplicitProduct: the kernel of a matrix product for each group whose operands are never stored: a block computes tiles of results one
// after the other, from tiles of both operands that are gathered into shared memory on demand (implicit GEMM). A family says where the
// elements of the operands are, and where the results go.
#pragma once

#include "executor/cuda/kernels/kernel_text.h"

namespace cleave::runtime::cuda {

class ImplicitProduct {
 public:
  struct Extents {
    std::int64_t groups = 1, rows = 0, columns = 0, depth = 0;
  };
  ImplicitProduct(const KernelRequest& request, const Architecture& architecture, std::string entry, bool wide, const Extents& extents)
      : kernel_(std::move(entry), wide), extents_(extents), request_(request), architecture_(architecture) {}
  ImplicitProduct(const ImplicitProduct&) = delete;
  ImplicitProduct& operator=(const ImplicitProduct&) = delete;
  virtual ~ImplicitProduct() = default;

  KernelSource write();

 protected:
  /// Declares what depends on `group` and on column `j` alone, which may be beyond the last.
  virtual void locate_column() = 0;
  /// The element of the left operand at row `r` and depth `deep`.
  virtual std::string left() = 0;
  /// Sets `value`, which is 0, to the element of the right operand at depth `k` and column `j`.
  virtual void load_right() = 0;
  /// Declares what depends on column `place` alone, then gives the offset of the result at row `output`; `addend` is added to the sum.
  virtual void locate_result() = 0;
  virtual std::string offset() = 0;
  virtual std::string addend() { return ""; }

  [[nodiscard]] std::string number(std::int64_t value) { return kernel_.index(value); }
  KernelText kernel_;
  const Extents extents_;

 private:
  const KernelRequest& request_;
  const Architecture& architecture_;
};

}  // namespace cleave::runtime::cuda
