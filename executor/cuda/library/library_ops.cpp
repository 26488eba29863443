// The table of optional libraries and the operations that they compute, one row for each library.
#include "executor/cuda/library/convolution.h"
#include "executor/cuda/library/fourier.h"
#include "executor/cuda/library/library_op.h"
#include "executor/cuda/library/solver.h"

namespace cleave::runtime::cuda {
namespace {

struct Row {
  bool (*takes)(const KernelRequest& request);
  bool (*there)(const Libraries& libraries);
  Result<std::optional<LibraryOp>> (*prepare)(LibrarySetting& setting, const KernelRequest& request);
};

Result<std::optional<LibraryOp>> found(Result<LibraryOp> op) {
  if (!op) return op.error();
  return std::optional(*std::move(op));
}

Result<std::optional<LibraryOp>> by_fft(LibrarySetting& setting, const KernelRequest& request) {
  return found(prepare_fourier(*setting.libraries->fft.get(), *setting.context, request));
}

Result<std::optional<LibraryOp>> by_solver(LibrarySetting& setting, const KernelRequest& request) {
  if (!setting.solver) {
    Result<std::shared_ptr<Solver>> opened = Solver::open(*setting.libraries->solver.get(), *setting.context);
    if (!opened) return opened.error();
    setting.solver = *std::move(opened);
  }
  return found(prepare_solver(setting.solver, request));
}

Result<std::optional<LibraryOp>> by_dnn(LibrarySetting& setting, const KernelRequest& request) {
  if (!setting.dnn) {
    Result<std::shared_ptr<Dnn>> opened = Dnn::open(*setting.libraries->dnn.get(), *setting.context);
    if (!opened) return opened.error();
    setting.dnn = *std::move(opened);
  }
  return prepare_convolution(setting.dnn, request);
}

constexpr Row kRows[] = {{has_fourier, [](const Libraries& all) { return all.fft.get().ok(); }, by_fft},
                         {has_solver, [](const Libraries& all) { return all.solver.get().ok(); }, by_solver},
                         {has_convolution, [](const Libraries& all) { return all.dnn.get().ok(); }, by_dnn}};

/// Null if no available library computes the request.
const Row* find_row(const Libraries& libraries, const KernelRequest& request) {
  if (!request.steps.empty()) return nullptr;
  for (const Row& row : kRows) {
    if (row.takes(request)) return row.there(libraries) ? &row : nullptr;
  }
  return nullptr;
}

}  // namespace

bool has_library_op(const Libraries& libraries, const KernelRequest& request) {
  return find_row(libraries, request) != nullptr;
}

Result<std::optional<LibraryOp>> prepare_library_op(LibrarySetting& setting, const KernelRequest& request) {
  const Row* row = setting.libraries ? find_row(*setting.libraries, request) : nullptr;
  if (!row) return std::optional<LibraryOp>();
  return row->prepare(setting, request);
}

}  // namespace cleave::runtime::cuda
