#include "executor/host/instructions.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace cleave::runtime::host {
namespace {

#if defined(__x86_64__)
/// Whether the processor converts between f16 and f32 (F16C); not every compiler has a name for this query.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

Instructions find() {
#if defined(__x86_64__)
  const auto all = [](auto... has) { return (... && (has != 0)); };
  if (!all(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"), __builtin_cpu_supports("bmi"), __builtin_cpu_supports("bmi2"),
           __builtin_cpu_supports("pclmul"), has_f16c()))
    return Instructions::portable;
  if (!all(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512dq"), __builtin_cpu_supports("avx512vl"),
           __builtin_cpu_supports("avx512bw")))
    return Instructions::avx2;
#ifdef CLEAVE_NO_AVX512
  return Instructions::avx2;
#else
  return Instructions::avx512;
#endif
#else
  return Instructions::portable;
#endif
}

}  // namespace

std::string_view to_string(Instructions set) {
  switch (set) {
    case Instructions::portable: break;
    case Instructions::avx2: return "AVX2";
    case Instructions::avx512: return "AVX-512";
  }
  return "portable";
}

Instructions instructions() {
  static const Instructions found = find();
  return found;
}

bool has_vnni() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vnni") != 0;
#else
  return false;
#endif
}

}  // namespace cleave::runtime::host
