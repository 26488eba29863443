#include "executor/cuda/handover.h"

#include <algorithm>

namespace cleave::runtime::cuda {

// The kernel reads the value past the caches, because the host wrote it to page-locked memory a moment ago. A reader that sees the word
// sees the whole value: the barrier orders every thread's writes before the fence of the thread that writes the word (PTX ISA 8.5, memory
// consistency model: causality order).
const std::string& handover_text() {
  static const std::string text = R"(
struct __align__(16) Pack { unsigned a, b, c, d; };
extern "C" __global__ void __launch_bounds__(1024) handover(unsigned long long to, unsigned long long from, unsigned long long bytes,
    unsigned long long note, unsigned long long command, unsigned long long word, unsigned long long number) {
  const unsigned packs = (unsigned)(bytes / 16);
  const volatile unsigned* in = (const volatile unsigned*)from;
  Pack* out = (Pack*)to;
  #pragma unroll 4
  for (unsigned i = threadIdx.x; i < packs; i += blockDim.x) {
    Pack pack;
    pack.a = in[4 * i];
    pack.b = in[4 * i + 1];
    pack.c = in[4 * i + 2];
    pack.d = in[4 * i + 3];
    out[i] = pack;
  }
  for (unsigned i = 16 * packs + threadIdx.x; i < (unsigned)bytes; i += blockDim.x)
    ((unsigned char*)to)[i] = ((const volatile unsigned char*)from)[i];
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (note != 0) *(volatile unsigned long long*)note = command;
  __threadfence_system();
  *(volatile unsigned long long*)word = number;
}
)";
  return text;
}

KernelLaunch handover_launch(std::int64_t bytes) {
  const auto packs = static_cast<unsigned>(std::max<std::int64_t>(bytes / 16, bytes % 16));
  return {"handover", {1, 1, 1}, {std::clamp((packs + 31) / 32 * 32, 32U, 1024U), 1, 1}, 0, {}};
}

}  // namespace cleave::runtime::cuda
