// The text of the probe's kernels, which NVRTC compiles at run time for the GPU.
#include "tools/gpu/probe/probe.h"

namespace cleave::probe {

const char* kernels_text() {
  return R"(
typedef unsigned long long u64;

extern "C" __global__ void nothing() {}

// Random numbers of a floating type by its bits: never NaN, between 1/8 and 1/2 in size. Two of a type of 16 bits at once.
extern "C" __global__ void fill(unsigned* to, u64 words, u64 base, u64 mask, u64 sign) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < words; i += gridDim.x * (u64)blockDim.x) {
    u64 h = (i + 1) * 0x9E3779B97F4A7C15ull;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9ull;
    h ^= h >> 32;
    to[i] = (unsigned)((base + (h & mask)) | (h & sign));
  }
}

// The device's half of the ping-pong: answers each number that the host writes, and ends by itself where none comes.
extern "C" __global__ void answer(unsigned* asked, unsigned* answered, u64 rounds, u64 limit_ns) {
  u64 start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  for (unsigned round = 1; round <= rounds; ++round) {
    unsigned seen, turn = 0;
    do {
      asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(seen) : "l"(asked) : "memory");
      if (++turn % 64 != 0) continue;  // the clock is slower than the word
      asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
      if (now - start > limit_ns) return;
    } while (seen != round);
    asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(answered), "r"(round) : "memory");
  }
}

__device__ __forceinline__ unsigned joined(unsigned v) { return v; }
__device__ __forceinline__ unsigned joined(uint2 v) { return v.x ^ v.y; }
__device__ __forceinline__ unsigned joined(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }
__device__ __forceinline__ void put(unsigned& v, unsigned x) { v = x; }
__device__ __forceinline__ void put(uint2& v, unsigned x) { v = make_uint2(x, x); }
__device__ __forceinline__ void put(uint4& v, unsigned x) { v = make_uint4(x, x, x, x); }

// Four accesses in flight. `count` is a multiple of four times the number of threads.
template <class T>
__device__ __forceinline__ void read(const T* from, T* to, u64 count) {
  const u64 threads = gridDim.x * (u64)blockDim.x;
  unsigned sum = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += 4 * threads) {
    const T a = from[i], b = from[i + threads], c = from[i + 2 * threads], d = from[i + 3 * threads];
    sum += joined(a) + joined(b) + joined(c) + joined(d);
  }
  if (sum == 0x12345678u) put(to[0], sum);  // as good as never, but the compiler does not know
}
template <class T>
__device__ __forceinline__ void write(const T*, T* to, u64 count) {
  const u64 threads = gridDim.x * (u64)blockDim.x;
  T value;
  put(value, threadIdx.x);
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += 4 * threads) {
    to[i] = value;
    to[i + threads] = value;
    to[i + 2 * threads] = value;
    to[i + 3 * threads] = value;
  }
}
template <class T>
__device__ __forceinline__ void copy(const T* from, T* to, u64 count) {
  const u64 threads = gridDim.x * (u64)blockDim.x;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += 4 * threads) {
    const T a = from[i], b = from[i + threads], c = from[i + 2 * threads], d = from[i + 3 * threads];
    to[i] = a;
    to[i + threads] = b;
    to[i + 2 * threads] = c;
    to[i + 3 * threads] = d;
  }
}

#define KERNEL(what, width, type) \
  extern "C" __global__ void what##_##width(const type* from, type* to, u64 count) { what(from, to, count); }
#define KERNELS(width, type) KERNEL(read, width, type) KERNEL(write, width, type) KERNEL(copy, width, type)
KERNELS(4, unsigned)
KERNELS(8, uint2)
KERNELS(16, uint4)
)";
}

}  // namespace cleave::probe
