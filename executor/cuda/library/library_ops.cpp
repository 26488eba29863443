// The operations that optional libraries do: one row a library.
#include "executor/cuda/library/fourier.h"
#include "executor/cuda/library/library_op.h"

namespace cleave::runtime::cuda {

bool has_library_op(const Libraries& libraries, const KernelRequest& request) {
  if (!request.steps.empty()) return false;
  return has_fourier(request) && libraries.fft.get().ok();
}

Result<std::optional<LibraryOp>> prepare_library_op(const LibrarySetting& setting, const KernelRequest& request) {
  if (!setting.libraries || !has_library_op(*setting.libraries, request)) return std::optional<LibraryOp>();
  Result<LibraryOp> op = prepare_fourier(*setting.libraries->fft.get(), *setting.context, request);
  if (!op) return op.error();
  return std::optional(*std::move(op));
}

}  // namespace cleave::runtime::cuda
