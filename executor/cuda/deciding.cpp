#include "executor/cuda/deciding.h"

#include <cstddef>

namespace cleave::runtime::cuda {

// The kernel runs as one thread. It reads values that earlier kernels of the graph have written. The host's words are in page-locked memory
// and are read past the caches. The driver resolves cudaGraphSetConditional when it links. A condition that is set inside a body decides
// whether the body runs again.
const std::string& deciding_text() {
  static const std::string text = R"(
typedef unsigned long long u64;
extern "C" __device__ void cudaGraphSetConditional(u64 handle, unsigned value);
#if defined(__CUDA_ARCH__)
static __device__ u64 nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}
#else
extern "C" u64 nanoseconds();
#endif

struct Launch {
  u64 command, count, stopped, looked;
};

static __device__ bool stops(Launch* launch, volatile u64* host) {
  if (launch->stopped) return true;
  const u64 now = nanoseconds();
  if (now - launch->looked >= 50000) {
    launch->looked = now;
    if (host[0] != 0) launch->stopped = 1;
    host[1] = host[1] + 1;
  }
  return launch->stopped != 0;
}

extern "C" __global__ void __launch_bounds__(32) decide(u64 what, Launch* launch, volatile u64* host, u64 command, u64 count, u64* trip,
    int* counter, const unsigned char* predicate, u64 ends, u64 taken, u64 otherwise) {
  if (threadIdx.x != 0) return;
  if (what == 0) {
    launch->command = command;
    launch->count = count;
    launch->stopped = 0;
    launch->looked = nanoseconds();
    return;
  }
  if (what == 4) {
    *counter = (int)*trip;
    return;
  }
  if (what == 3) {
    const unsigned value = *predicate != 0;
    if (taken != 0) cudaGraphSetConditional(taken, value);
    if (otherwise != 0) cudaGraphSetConditional(otherwise, 1 - value);
    return;
  }
  const u64 number = what == 1 ? 0 : *trip + 1;
  *trip = number;
  const u64 trips = count == ~(u64)0 ? launch->count : count;
  bool more = number < trips;
  if (predicate != 0 && !(what == 1 && ends)) more = more && (*predicate != 0) != (ends != 0);
  if (what == 2 && stops(launch, host)) more = false;
  if (launch->stopped) more = false;
  if (counter != 0) *counter = (int)number;
  cudaGraphSetConditional(taken, more);
}
)";
  return text;
}

static_assert(offsetof(LaunchWords, command) == 0 && offsetof(LaunchWords, stopped) == 16, "as `tell_fault` has it (device/elements.cuh)");

KernelLaunch deciding_launch() {
  return {"decide", {1, 1, 1}, {32, 1, 1}, 0, {}};
}

}  // namespace cleave::runtime::cuda
