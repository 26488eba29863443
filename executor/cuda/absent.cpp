// The CUDA room of a build without the toolkit's headers: it says so.
#include "executor/cuda/open.h"

namespace cleave::cuda {
namespace {

Error absent() {
  return {"this build of cleave has no CUDA back end: <cuda.h>, <nvrtc.h> and <cublasLt.h> of the CUDA toolkit were not found",
          {},
          ErrorKind::machine};
}

}  // namespace

std::vector<Found> find_devices() {
  return {{"cuda", absent().message, {}, {}, 0}};
}

Status usable() {
  return absent();
}

Result<std::unique_ptr<Device>> open(const ExecutorOptions&) {
  return absent();
}

Result<Array> page_locked(TensorType, int) {
  return absent();
}

bool supports(const Graph&, NodeId) {
  return false;
}

bool fuses(const KernelRequest&) {
  return false;
}

}  // namespace cleave::cuda
