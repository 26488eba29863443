#include "executor/host/past_cache.h"

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace cleave::runtime::host {
namespace {

/// An estimate of the last-level cache that one core can fill. The size that the system reports is no measure of it: that is the sum over
/// all cores, of which one core has only a tenth on some machines.
[[maybe_unused]] constexpr std::int64_t kLastCache = 32 << 20;

}  // namespace

bool past_cache([[maybe_unused]] std::int64_t bytes) {
#ifdef __SSE2__
  return bytes >= kLastCache;
#else
  return false;
#endif
}

void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes) {
#ifdef __SSE2__
  constexpr std::size_t kLine = 64, kVector = 16;
  const std::size_t before = std::min(bytes, (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine);
  std::memcpy(to, from, before);
  std::size_t i = before;
  for (; i + kLine <= bytes; i += kLine) {
    for (std::size_t k = 0; k < kLine; k += kVector)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + k), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + k)));
  }
  std::memcpy(to + i, from + i, bytes - i);
#else
  std::memcpy(to, from, bytes);
#endif
}

void finish_past_cache() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace cleave::runtime::host
