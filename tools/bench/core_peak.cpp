// A loop for each instruction set, chosen at run time. The purpose is stated in core_peak.h.
#include "tools/bench/core_peak.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cleave::bench {
namespace {

// Independent sums: enough to fill two pipelines with a latency of four or five cycles, few enough for the registers.
constexpr int kSums = 12;
// Different values that the compiler does not know; otherwise it would compute a single sum.
volatile const float kStarts[kSums] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

using Loop = float (*)(std::int64_t steps);

#if defined(__x86_64__)
[[gnu::target("avx512f")]] float with_avx512(std::int64_t steps) {
  __m512 sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = _mm512_set1_ps(kStarts[i]);
  const __m512 factor = _mm512_set1_ps(0.5F), addend = _mm512_set1_ps(1);
  for (; steps > 0; --steps) {
#pragma GCC unroll 12
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, factor, addend);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

[[gnu::target("avx,fma")]] float with_fma(std::int64_t steps) {
  __m256 sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = _mm256_set1_ps(kStarts[i]);
  const __m256 factor = _mm256_set1_ps(0.5F), addend = _mm256_set1_ps(1);
  for (; steps > 0; --steps) {
#pragma GCC unroll 12
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, factor, addend);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
  return _mm256_cvtss_f32(sums[0]);
}
#endif

/// The baseline for every machine of this architecture: four floats at once.
float with_baseline(std::int64_t steps) {
  float sums[4 * kSums];
  for (int i = 0; i < 4 * kSums; ++i) sums[i] = kStarts[i % kSums];
  for (; steps > 0; --steps)
    for (float& sum : sums) sum = sum * 0.5F + 1.0F;
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

struct Instructions {
  const char* name;
  int width;
  Loop loop;
};

Instructions widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {"avx512f", 16, with_avx512};
  if (__builtin_cpu_supports("fma")) return {"fma", 8, with_fma};
#endif
  return {"baseline", 4, with_baseline};
}

}  // namespace

void multiply_add(std::int64_t count) {
  const Instructions instructions = widest();
  const std::int64_t a_step = kSums * instructions.width;
  [[maybe_unused]] const volatile float result = instructions.loop((count + a_step - 1) / a_step);
}

const char* peak_instructions() {
  return widest().name;
}

}  // namespace cleave::bench
