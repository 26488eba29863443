#include "executor/host/instructions.h"

namespace cleave::runtime::host {
namespace {

Instructions find() {
#if defined(__x86_64__)
  const auto all = [](auto... has) { return (... && (has != 0)); };
  if (!all(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"), __builtin_cpu_supports("bmi"), __builtin_cpu_supports("bmi2"),
           __builtin_cpu_supports("pclmul")))
    return Instructions::portable;
  if (!all(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512dq"), __builtin_cpu_supports("avx512vl"),
           __builtin_cpu_supports("avx512bw")))
    return Instructions::avx2;
  return Instructions::avx512;
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

}  // namespace cleave::runtime::host
