// Linear algebra by cuSOLVER, matrix by matrix. What lies row by row here is, column by column, the transposed matrix; what is made of that
// is written at each operation. Knows no device: memory comes with each call.
#pragma once

#include "executor/cuda/library/library_op.h"
#include "executor/cuda/library/solver_layout.h"

namespace cleave::runtime::cuda {

/// What one device's operations share: the library's handle.
class Solver {
 public:
  static Result<std::shared_ptr<Solver>> open(const SolverApi& api, const Context& context);
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
  ~Solver();

  [[nodiscard]] const SolverApi& api() const { return api_; }
  [[nodiscard]] SolverHandle handle() const { return handle_; }

 private:
  Solver(const SolverApi& api, const Context& context) : api_(api), context_(context) {}

  const SolverApi& api_;
  const Context& context_;
  SolverHandle handle_ = nullptr;
};

/// Large batches are not its: a call a matrix takes longer than the host's work on small ones.
bool has_solver(const KernelRequest& request);
Result<LibraryOp> prepare_solver(const std::shared_ptr<Solver>& solver, const KernelRequest& request);

}  // namespace cleave::runtime::cuda
