// Linear algebra by cuSOLVER, one call for each matrix: `prepare_solver`. cuSOLVER is column-major and so sees the transpose of cleave's
// row-major matrices; solver_layout.cpp says at each operation how that is handled. Knows no device: memory is passed with each call.
#pragma once

#include "executor/cuda/library/library_op.h"
#include "executor/cuda/library/solver_layout.h"

namespace cleave::runtime::cuda {

/// The library handle that one device's operations share.
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

/// False for large batches: one call for each matrix takes longer than the host's work on small matrices.
bool has_solver(const KernelRequest& request);
Result<LibraryOp> prepare_solver(const std::shared_ptr<Solver>& solver, const KernelRequest& request);

}  // namespace cleave::runtime::cuda
