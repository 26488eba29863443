#include "executor/host/simd/level.h"

#include <vector>

#include "executor/host/instructions.h"

#ifdef CLEAVE_HAS_HIGHWAY
#include "executor/host/simd/targets.h"
#endif

namespace cleave::runtime::host {
namespace {

std::vector<Level> find_levels() {
  std::vector<Level> found;
#ifdef CLEAVE_HAS_HIGHWAY
#if HWY_TARGETS & HWY_AVX3
  if (instructions() >= Instructions::avx512) found.push_back(Level::avx512);
#endif
#if HWY_TARGETS & HWY_AVX2
  if (instructions() >= Instructions::avx2) found.push_back(Level::avx2);
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
