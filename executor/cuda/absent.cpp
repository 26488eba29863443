// The CUDA back end of a build without the toolkit's headers: its record reports that CUDA is absent.
#include "executor/cuda/back_end.h"

namespace cleave::runtime::cuda {
namespace {

Error absent() {
  return {"this build of cleave has no CUDA back end: <cuda.h>, <nvrtc.h> and <cublasLt.h> of the CUDA toolkit were not found",
          {},
          ErrorKind::machine};
}

}  // namespace

BackEnd back_end() {
  BackEnd record;
  record.name = "cuda";
  record.numbered = true;
  record.machine = "h200";
  record.calibrated = "cuda";
  record.usable = [] { return Status(absent()); };
  record.find = [] { return std::vector<FoundDevice>{{"cuda", "NVIDIA GPU", absent().message, {}, {}, 0}}; };
  record.open = [](int, const ExecutorOptions&) { return Result<std::unique_ptr<Device>>(absent()); };
  record.supports = [](const Graph&, NodeId) { return false; };
  record.page_locked = [](TensorType, int) { return Result<Array>(absent()); };
  return record;
}

bool fuses(const KernelRequest&) {
  return false;
}

}  // namespace cleave::runtime::cuda
