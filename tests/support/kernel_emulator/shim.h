// Shim: the parts of CUDA's language that C++ lacks. It is the prelude of every text that the kernel emulator compiles, and never part of
// the test program. Hooks call from the compiled text into the emulator: indices, barriers, exchanges between lanes, and every memory
// access. The compiler's thread-sanitizer instrumentation announces the accesses; this file defines that sanitizer's functions, and the
// undefined-behavior sanitizer's.
#pragma once

#include <math.h>
#include <string.h>

#include <utility>

#define CLEAVE_UNSEEN __attribute__((no_sanitize("thread", "undefined")))
#define CLEAVE_CALLED __attribute__((no_sanitize("thread", "undefined"), noinline))
#define CLEAVE_VISIBLE extern "C" __attribute__((visibility("default")))

namespace cleave_emulator {

struct Index {
  unsigned x, y, z;
};
enum Access { kRead, kWrite, kAtomic, kAtomicWrite };
enum Collective { kSyncWarp, kExchange, kBallot };

/// Mirrored in grid_runner.h.
struct Hooks {
  const Index *thread, *block, *block_size, *grid_size;
  void (*access)(const void* address, unsigned long bytes, int access);
  void (*barrier)(int line);
  unsigned long long (*collective)(int kind, unsigned mask, unsigned long long value, unsigned source);
  void* (*dynamic_shared)();
  void (*undefined)(const char* what, unsigned line);
};
CLEAVE_VISIBLE Hooks cleave_hooks = {};

__attribute__((const)) CLEAVE_CALLED inline Index thread_index() {
  return *cleave_hooks.thread;
}
__attribute__((const)) CLEAVE_CALLED inline Index block_index() {
  return *cleave_hooks.block;
}
__attribute__((const)) CLEAVE_CALLED inline Index block_size() {
  return *cleave_hooks.block_size;
}
__attribute__((const)) CLEAVE_CALLED inline Index grid_size() {
  return *cleave_hooks.grid_size;
}
CLEAVE_CALLED inline void barrier(int line) {
  cleave_hooks.barrier(line);
}
CLEAVE_CALLED inline void* dynamic_shared() {
  return cleave_hooks.dynamic_shared();
}
CLEAVE_CALLED inline void seen(const void* address, unsigned long bytes, int access) {
  cleave_hooks.access(address, bytes, access);
}

/// Calls a kernel; its parameters are all eight bytes wide.
template <class... P, std::size_t... i>
CLEAVE_UNSEEN void call(void (*kernel)(P...), const unsigned long long* parameters, std::index_sequence<i...>) {
  static_assert(((sizeof(P) == 8) && ...), "every parameter of a kernel is eight bytes wide");
  kernel(((P)(parameters[i]))...);
}
template <class... P>
CLEAVE_UNSEEN unsigned long call(void (*kernel)(P...), const unsigned long long* parameters) {
  if (parameters) call(kernel, parameters, std::index_sequence_for<P...>());
  return sizeof...(P);
}

template <class T>
CLEAVE_UNSEEN unsigned long long pack(T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "lanes exchange four or eight bytes");
  unsigned long long bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
CLEAVE_UNSEEN T exchange(unsigned mask, T value, unsigned source) {
  const unsigned long long bits = cleave_hooks.collective(kExchange, mask, pack(value), source);
  memcpy(&value, &bits, sizeof value);
  return value;
}
CLEAVE_CALLED inline unsigned lane() {
  const Index t = thread_index(), size = block_size();
  return (t.x + size.x * (t.y + size.y * t.z)) % 32;
}

/// An atomic read-modify-write operation: replaces the value `old` by `next(old)`.
template <class T, class Next>
CLEAVE_CALLED T atomic(T* address, Next next) {
  seen(address, sizeof(T), kAtomic);
  const T old = *address;
  *address = next(old);
  return old;
}

}  // namespace cleave_emulator

// --- words -----------------------------------------------------------------------------------------------------------------------------
#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)
// CLEAVE_SHARED_SECTION is redefined for each text. Compilers ignore sections in templates: there, shared memory comes as a parameter.
#define __shared__ static __attribute__((section(CLEAVE_SHARED_SECTION)))
#define threadIdx (cleave_emulator::thread_index())
#define blockIdx (cleave_emulator::block_index())
#define blockDim (cleave_emulator::block_size())
#define gridDim (cleave_emulator::grid_size())
#define warpSize 32
#define __syncthreads() cleave_emulator::barrier(__LINE__)

// --- vector types ------------------------------------------------------------------------------------------------------------------------
#define CLEAVE_VECTORS(type, name, align2, align4)                \
  struct alignas(align2) name##2 {                                \
    type x, y;                                                    \
  };                                                              \
  struct name##3 {                                                \
    type x, y, z;                                                 \
  };                                                              \
  struct alignas(align4) name##4 {                                \
    type x, y, z, w;                                              \
  };                                                              \
  inline name##2 make_##name##2(type x, type y) {                 \
    return {x, y};                                                \
  }                                                               \
  inline name##3 make_##name##3(type x, type y, type z) {         \
    return {x, y, z};                                             \
  }                                                               \
  inline name##4 make_##name##4(type x, type y, type z, type w) { \
    return {x, y, z, w};                                          \
  }
CLEAVE_VECTORS(signed char, char, 2, 4)
CLEAVE_VECTORS(unsigned char, uchar, 2, 4)
CLEAVE_VECTORS(short, short, 4, 8)
CLEAVE_VECTORS(unsigned short, ushort, 4, 8)
CLEAVE_VECTORS(int, int, 8, 16)
CLEAVE_VECTORS(unsigned, uint, 8, 16)
CLEAVE_VECTORS(long long, longlong, 16, 16)
CLEAVE_VECTORS(unsigned long long, ulonglong, 16, 16)
CLEAVE_VECTORS(float, float, 8, 16)
CLEAVE_VECTORS(double, double, 16, 16)
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

// --- warps -------------------------------------------------------------------------------------------------------------------------------
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  cleave_emulator::cleave_hooks.collective(cleave_emulator::kSyncWarp, mask, 0, 0);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return (unsigned)cleave_emulator::cleave_hooks.collective(cleave_emulator::kBallot, mask, predicate != 0, 0);
}
inline int __any_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, !predicate) == 0;
}
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return cleave_emulator::exchange(mask, value,
                                   (cleave_emulator::lane() & ~(unsigned)(width - 1)) | ((unsigned)source & (unsigned)(width - 1)));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned lane = cleave_emulator::lane();
  return cleave_emulator::exchange(mask, value, (lane & (unsigned)(width - 1)) + delta < (unsigned)width ? lane + delta : lane);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned lane = cleave_emulator::lane();
  return cleave_emulator::exchange(mask, value, (lane & (unsigned)(width - 1)) >= delta ? lane - delta : lane);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const unsigned lane = cleave_emulator::lane(), source = lane ^ (unsigned)bits;
  return cleave_emulator::exchange(mask, value, source / (unsigned)width <= lane / (unsigned)width ? source : lane);
}

// --- atomics and fences ------------------------------------------------------------------------------------------------------------------
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_THREAD_SCOPE_DEVICE 3
template <class T>
T __nv_atomic_load_n(T* a, int, int) {
  return cleave_emulator::atomic(a, [](T old) { return old; });
}
template <class T>
CLEAVE_CALLED void __nv_atomic_store_n(T* a, T v, int, int) {
  cleave_emulator::seen(a, sizeof(T), cleave_emulator::kAtomicWrite);
  *a = v;
}
template <class T>
T atomicAdd(T* a, T v) {
  return cleave_emulator::atomic(a, [&](T old) { return (T)(old + v); });
}
template <class T>
T atomicMin(T* a, T v) {
  return cleave_emulator::atomic(a, [&](T old) { return v < old ? v : old; });
}
template <class T>
T atomicMax(T* a, T v) {
  return cleave_emulator::atomic(a, [&](T old) { return old < v ? v : old; });
}
template <class T>
T atomicOr(T* a, T v) {
  return cleave_emulator::atomic(a, [&](T old) { return (T)(old | v); });
}
template <class T>
T atomicAnd(T* a, T v) {
  return cleave_emulator::atomic(a, [&](T old) { return (T)(old & v); });
}
template <class T>
T atomicExch(T* a, T v) {
  return cleave_emulator::atomic(a, [&](T) { return v; });
}
template <class T>
T atomicCAS(T* a, T expected, T v) {
  return cleave_emulator::atomic(a, [&](T old) { return old == expected ? v : old; });
}

// --- numbers -----------------------------------------------------------------------------------------------------------------------------
#define CLEAVE_CAST(name, to, from)                   \
  inline to name(from value) {                        \
    static_assert(sizeof(to) == sizeof(from), "");    \
    to result;                                        \
    __builtin_memcpy(&result, &value, sizeof result); \
    return result;                                    \
  }
CLEAVE_CAST(__float_as_int, int, float)
CLEAVE_CAST(__float_as_uint, unsigned, float)
CLEAVE_CAST(__int_as_float, float, int)
CLEAVE_CAST(__uint_as_float, float, unsigned)
CLEAVE_CAST(__double_as_longlong, long long, double)
CLEAVE_CAST(__longlong_as_double, double, long long)
#define CLEAVE_ROUNDED(type, letter, root)         \
  inline type __##letter##add_rn(type a, type b) { \
    return a + b;                                  \
  }                                                \
  inline type __##letter##sub_rn(type a, type b) { \
    return a - b;                                  \
  }                                                \
  inline type __##letter##mul_rn(type a, type b) { \
    return a * b;                                  \
  }                                                \
  inline type __##letter##div_rn(type a, type b) { \
    return a / b;                                  \
  }                                                \
  inline type __##letter##sqrt_rn(type a) {        \
    return root(a);                                \
  }                                                \
  inline type __##letter##rcp_rn(type a) {         \
    return 1 / a;                                  \
  }
CLEAVE_ROUNDED(float, f, sqrtf)
CLEAVE_ROUNDED(double, d, sqrt)
inline float __fmaf_rn(float a, float b, float c) {
  return fmaf(a, b, c);
}
inline double __fma_rn(double a, double b, double c) {
  return fma(a, b, c);
}
inline float rsqrtf(float a) {
  return 1 / sqrtf(a);
}
inline double rsqrt(double a) {
  return 1 / sqrt(a);
}
inline float rsqrt(float a) {
  return rsqrtf(a);
}
inline int __clz(int a) {
  return a ? __builtin_clz((unsigned)a) : 32;
}
inline int __clzll(long long a) {
  return a ? __builtin_clzll((unsigned long long)a) : 64;
}
inline int __ffs(int a) {
  return __builtin_ffs(a);
}
inline int __popc(unsigned a) {
  return __builtin_popcount(a);
}
inline int __popcll(unsigned long long a) {
  return __builtin_popcountll(a);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long bytes = (unsigned long long)b << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= (unsigned)(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return result;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)((unsigned long long)a * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
template <class T>
const T& __ldg(const T* address) {
  return *address;
}
#define CLEAVE_MIN_MAX(type)        \
  inline type min(type a, type b) { \
    return b < a ? b : a;           \
  }                                 \
  inline type max(type a, type b) { \
    return a < b ? b : a;           \
  }
CLEAVE_MIN_MAX(int)
CLEAVE_MIN_MAX(unsigned)
CLEAVE_MIN_MAX(long long)
CLEAVE_MIN_MAX(unsigned long long)
inline float min(float a, float b) {
  return fminf(a, b);
}
inline float max(float a, float b) {
  return fmaxf(a, b);
}
inline double min(double a, double b) {
  return fmin(a, b);
}
inline double max(double a, double b) {
  return fmax(a, b);
}

// --- functions that the sanitizers' instrumentation calls --------------------------------------------------------------------------------
extern "C" {
#define CLEAVE_ACCESS(bytes)                                  \
  CLEAVE_CALLED void __tsan_read##bytes(void* a) {            \
    cleave_emulator::seen(a, bytes, cleave_emulator::kRead);  \
  }                                                           \
  CLEAVE_CALLED void __tsan_write##bytes(void* a) {           \
    cleave_emulator::seen(a, bytes, cleave_emulator::kWrite); \
  }                                                           \
  CLEAVE_CALLED void __tsan_volatile_read##bytes(void* a) {   \
    cleave_emulator::seen(a, bytes, cleave_emulator::kRead);  \
  }                                                           \
  CLEAVE_CALLED void __tsan_volatile_write##bytes(void* a) {  \
    cleave_emulator::seen(a, bytes, cleave_emulator::kWrite); \
  }                                                           \
  CLEAVE_CALLED void __tsan_unaligned_read##bytes(void* a) {  \
    cleave_emulator::seen(a, bytes, cleave_emulator::kRead);  \
  }                                                           \
  CLEAVE_CALLED void __tsan_unaligned_write##bytes(void* a) { \
    cleave_emulator::seen(a, bytes, cleave_emulator::kWrite); \
  }                                                           \
  CLEAVE_CALLED void __tsan_read_write##bytes(void* a) {      \
    cleave_emulator::seen(a, bytes, cleave_emulator::kRead);  \
    cleave_emulator::seen(a, bytes, cleave_emulator::kWrite); \
  }
CLEAVE_ACCESS(1)
CLEAVE_ACCESS(2)
CLEAVE_ACCESS(4)
CLEAVE_ACCESS(8)
CLEAVE_ACCESS(16)
CLEAVE_CALLED void __tsan_read_range(void* a, unsigned long bytes) {
  cleave_emulator::seen(a, bytes, cleave_emulator::kRead);
}
CLEAVE_CALLED void __tsan_write_range(void* a, unsigned long bytes) {
  cleave_emulator::seen(a, bytes, cleave_emulator::kWrite);
}
CLEAVE_CALLED void* __tsan_memcpy(void* to, const void* from, unsigned long bytes) {
  cleave_emulator::seen(from, bytes, cleave_emulator::kRead);
  cleave_emulator::seen(to, bytes, cleave_emulator::kWrite);
  return memcpy(to, from, bytes);
}
CLEAVE_CALLED void* __tsan_memset(void* to, int value, unsigned long bytes) {
  cleave_emulator::seen(to, bytes, cleave_emulator::kWrite);
  return memset(to, value, bytes);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

/// The source location at the beginning of each handler's data.
struct CleaveLocation {
  const char* file;
  unsigned line, column;
};
#define CLEAVE_UNDEFINED(name, what)                                        \
  CLEAVE_CALLED void __ubsan_handle_##name##_abort(CleaveLocation* place) { \
    cleave_emulator::cleave_hooks.undefined(what, place->line);             \
  }
CLEAVE_UNDEFINED(add_overflow, "an addition overflows")
CLEAVE_UNDEFINED(sub_overflow, "a subtraction overflows")
CLEAVE_UNDEFINED(mul_overflow, "a multiplication overflows")
CLEAVE_UNDEFINED(negate_overflow, "a negation overflows")
CLEAVE_UNDEFINED(divrem_overflow, "a division by zero, or one that overflows")
CLEAVE_UNDEFINED(shift_out_of_bounds, "a shift too far")
CLEAVE_UNDEFINED(out_of_bounds, "an index outside of its array")
}
