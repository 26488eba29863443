#include "executor/cuda/library/solver.h"

#include <algorithm>

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kMostMatrices = 64;

Status check_solver(const std::string& call, SolverResult result) {
  if (result == SolverResult::success) return {};
  static constexpr const char* names[] = {"CUSOLVER_STATUS_NOT_INITIALIZED", "CUSOLVER_STATUS_ALLOC_FAILED",
                                          "CUSOLVER_STATUS_INVALID_VALUE",   "CUSOLVER_STATUS_ARCH_MISMATCH",
                                          "CUSOLVER_STATUS_MAPPING_ERROR",   "CUSOLVER_STATUS_EXECUTION_FAILED",
                                          "CUSOLVER_STATUS_INTERNAL_ERROR"};
  const auto code = static_cast<std::size_t>(result);
  const std::string what = code <= std::size(names) ? names[code - 1] : "cuSOLVER's error " + std::to_string(code);
  return Error{call + " failed: " + what, {}, ErrorKind::machine};
}

/// The stages of an operation's library calls: most have only the first; `qr` has two, with cleave's own kernel between them.
enum class Stage : std::uint8_t { first, second };

class MatrixCalls final : public LibraryCall {
 public:
  MatrixCalls(std::shared_ptr<Solver> solver, const SolverLayout& layout, Stage stage)
      : solver_(std::move(solver)), routines_(layout.wide ? solver_->api().f64 : solver_->api().f32), layout_(layout), stage_(stage) {}

  /// The number of elements of work memory that the routines need.
  Result<std::int64_t> find_size() {
    const int m = as_int(layout_.m), n = as_int(layout_.n), k = as_int(layout_.k), tall = std::max(m, n);
    SolverHandle handle = solver_->handle();
    Status status;
    switch (layout_.op) {
      case SolverOp::solve:
      case SolverOp::inverse:
      case SolverOp::determinant:
      case SolverOp::log_determinant: status = check("getrf_bufferSize", routines_.getrf_size(handle, n, n, nullptr, n, &size_)); break;
      case SolverOp::cholesky: status = check("potrf_bufferSize", routines_.potrf_size(handle, triangle(), n, nullptr, n, &size_)); break;
      case SolverOp::qr:
        status = stage_ == Stage::first ? check("geqrf_bufferSize", routines_.geqrf_size(handle, m, n, nullptr, m, &size_))
                                        : check("orgqr_bufferSize", routines_.orgqr_size(handle, m, k, k, nullptr, m, nullptr, &size_));
        break;
      case SolverOp::eigen:
      case SolverOp::eigenvalues:
        status = check("syevd_bufferSize", routines_.syevd_size(handle, job(), SolverTriangle::lower, n, nullptr, n, nullptr, &size_));
        break;
      case SolverOp::svd:
      case SolverOp::singular_values: status = check("gesvd_bufferSize", routines_.gesvd_size(handle, tall, k, &size_)); break;
    }
    if (!status) return status.error();
    return std::int64_t{size_};
  }

  Status enqueue(CUstream stream, const OperandAddresses& operands) override {
    Status status = check_solver("cusolverDnSetStream", solver_->api().cusolverDnSetStream(solver_->handle(), stream));
    for (std::int64_t i = 0; status && i < layout_.count; ++i) status = enqueue_one(operands, i);
    return status;
  }

 private:
  static int as_int(std::int64_t extent) { return static_cast<int>(extent); }
  [[nodiscard]] SolverTriangle triangle() const { return layout_.upper ? SolverTriangle::lower : SolverTriangle::upper; }
  [[nodiscard]] SolverJob job() const { return layout_.op == SolverOp::eigen ? SolverJob::vectors : SolverJob::values; }

  [[nodiscard]] Status check(const std::string& routine, SolverResult result) const {
    if (result == SolverResult::success) return {};
    return check_solver(std::string("cusolverDn") + (layout_.wide ? "D" : "S") + routine, result);
  }

  Status enqueue_one(const OperandAddresses& operands, std::int64_t i) {
    const SolverLayout& l = layout_;
    const int m = as_int(l.m), n = as_int(l.n), k = as_int(l.k), tall = std::max(m, n);
    const auto place = [&](CUdeviceptr from, std::int64_t bytes) {
      return reinterpret_cast<void*>(from + static_cast<CUdeviceptr>(bytes));
    };
    const auto scratch = [&](std::int64_t at, std::int64_t elements) { return place(operands.scratch, at + i * elements * l.element()); };
    const auto result = [&](std::size_t which, std::int64_t elements) {
      return place(operands.results[which], i * elements * l.element());
    };
    void *const a = scratch(l.a, l.m * l.n), *const work = place(operands.scratch, l.work);
    int* const info = static_cast<int*>(place(operands.scratch, l.info + i * 4));
    int* const pivots = static_cast<int*>(place(operands.scratch, l.pivots + i * l.n * 4));
    void* const tau = scratch(l.tau, l.k);
    SolverHandle handle = solver_->handle();
    switch (l.op) {
      case SolverOp::determinant:
      case SolverOp::log_determinant: return check("getrf", routines_.getrf(handle, n, n, a, n, work, pivots, info));
      case SolverOp::solve:
      case SolverOp::inverse: {
        Status status = check("getrf", routines_.getrf(handle, n, n, a, n, work, pivots, info));
        if (!status) return status;
        int* const unused = static_cast<int*>(place(operands.scratch, l.info + l.count * 4));
        if (l.op == SolverOp::inverse)
          return check("getrs", routines_.getrs(handle, SolverTurn::none, n, n, a, n, pivots, result(0, l.n * l.n), n, unused));
        return check("getrs", routines_.getrs(handle, SolverTurn::transposed, n, as_int(l.sides), a, n, pivots, scratch(l.b, l.n * l.sides),
                                              n, unused));
      }
      case SolverOp::cholesky: return check("potrf", routines_.potrf(handle, triangle(), n, result(0, l.n * l.n), n, work, size_, info));
      case SolverOp::qr:
        return stage_ == Stage::first ? check("geqrf", routines_.geqrf(handle, m, n, a, m, tau, work, size_, info))
                                      : check("orgqr", routines_.orgqr(handle, m, k, k, a, m, tau, work, size_, info));
      case SolverOp::eigen:
      case SolverOp::eigenvalues:
        return check("syevd", routines_.syevd(handle, job(), SolverTriangle::lower, n, a, n, result(0, l.n), work, size_, info));
      case SolverOp::svd:
      case SolverOp::singular_values: break;
    }
    const bool vectors = l.op == SolverOp::svd;
    const auto job = static_cast<signed char>(vectors ? 'S' : 'N');
    void *const u = vectors ? scratch(l.b, tall * l.k) : nullptr, *const vt = vectors ? scratch(l.vt, l.k * l.k) : nullptr;
    return check("gesvd", routines_.gesvd(handle, job, job, tall, k, a, tall, result(vectors ? 1 : 0, l.k), u, tall, vt, k, work, size_,
                                          nullptr, info));
  }

  const std::shared_ptr<Solver> solver_;
  const SolverRoutines& routines_;
  const SolverLayout layout_;
  const Stage stage_;
  int size_ = 0;
};

}  // namespace

Result<std::shared_ptr<Solver>> Solver::open(const SolverApi& api, const Context& context) {
  std::shared_ptr<Solver> solver(new Solver(api, context));
  if (Status status = check_solver("cusolverDnCreate", api.cusolverDnCreate(&solver->handle_)); !status) return status.error();
  return solver;
}

Solver::~Solver() {
  if (handle_ && !context_.stuck()) api_.cusolverDnDestroy(handle_);
}

bool has_solver(const KernelRequest& request) {
  if (!solver_op(*request.op)) return false;
  for (const std::vector<TensorType>* types : {&request.input_types, &request.result_types})
    for (const TensorType& type : *types)
      if (type.elements() == 0) return false;
  return SolverLayout(request).count <= kMostMatrices;
}

Result<LibraryOp> prepare_solver(const std::shared_ptr<Solver>& solver, const KernelRequest& request) {
  SolverLayout layout(request);
  LibraryOp op;
  op.captures = false;  // the library does not document which routines wait for the device
  op.around = solver_kernels(layout, request);
  std::int64_t work = 1;
  const std::size_t stages = layout.op == SolverOp::qr ? 2 : 1;
  for (std::size_t i = 0; i < stages; ++i) {
    auto calls = std::make_shared<MatrixCalls>(solver, layout, i == 0 ? Stage::first : Stage::second);
    Result<std::int64_t> size = calls->find_size();
    if (!size) return size.error();
    work = std::max(work, *size);
    op.calls.push_back({i + 1, std::move(calls)});
  }
  op.around.scratch_bytes = layout.work + work * layout.element();
  return op;
}

}  // namespace cleave::runtime::cuda
