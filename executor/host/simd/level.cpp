#include "executor/host/simd/level.h"

#include <vector>

#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#endif

namespace cleave::runtime::host {
namespace {

[[maybe_unused]] bool has_avx2() {
#ifdef __x86_64__
  for (const bool has : {__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"), __builtin_cpu_supports("bmi"),
                         __builtin_cpu_supports("bmi2"), __builtin_cpu_supports("pclmul")}) {
    if (!has) return false;
  }
  return true;
#else
  return false;
#endif
}

[[maybe_unused]] bool has_avx512() {
#ifdef __x86_64__
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw");
#else
  return false;
#endif
}

std::vector<Level> find_levels() {
  std::vector<Level> found;
#ifdef CLEAVE_HAS_HIGHWAY
#if HWY_TARGETS & HWY_AVX3
  if (has_avx512()) found.push_back(Level::avx512);
#endif
#if HWY_TARGETS & HWY_AVX2
  if (has_avx2()) found.push_back(Level::avx2);
#endif
#if HWY_TARGETS & HWY_NEON
  found.push_back(Level::neon);
#endif
#endif
  return found;
}

}  // namespace

std::string_view to_string(Level level) {
  switch (level) {
    case Level::neon: return "NEON";
    case Level::avx2: return "AVX2";
    case Level::avx512: return "AVX-512";
  }
  return "";
}

std::span<const Level> levels() {
  static const std::vector<Level> found = find_levels();
  return found;
}

}  // namespace cleave::runtime::host
