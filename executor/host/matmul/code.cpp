#include "executor/host/matmul/code.h"

#include "executor/host/instructions.h"

namespace cleave::runtime::host {

#define CLEAVE_CODE_DECLARE(name)               \
  namespace name {                              \
  const ProductCode<float>& code_f32();         \
  const ProductCode<double>& code_f64();        \
  const ProductCode<std::uint32_t>& code_u32(); \
  const ProductCode<std::uint64_t>& code_u64(); \
  }
CLEAVE_CODE_DECLARE(portable)
#if defined(__x86_64__)
CLEAVE_CODE_DECLARE(avx2)
#ifdef CLEAVE_NO_AVX512
namespace avx512 = avx2;
#else
CLEAVE_CODE_DECLARE(avx512)
#endif
#endif
#undef CLEAVE_CODE_DECLARE

namespace {

template <class T>
const ProductCode<T>& choose(const ProductCode<T>& portable, [[maybe_unused]] const ProductCode<T>& avx2,
                             [[maybe_unused]] const ProductCode<T>& avx512) {
  switch (instructions()) {
    case Instructions::avx512: return avx512;
    case Instructions::avx2: return avx2;
    default: return portable;
  }
}

}  // namespace

#if defined(__x86_64__)
#define CLEAVE_CODE_CHOOSE(name) choose(portable::name(), avx2::name(), avx512::name())
#else
#define CLEAVE_CODE_CHOOSE(name) choose(portable::name(), portable::name(), portable::name())
#endif

template <>
const ProductCode<float>& product_code() {
  return CLEAVE_CODE_CHOOSE(code_f32);
}
template <>
const ProductCode<double>& product_code() {
  return CLEAVE_CODE_CHOOSE(code_f64);
}
template <>
const ProductCode<std::uint32_t>& product_code() {
  return CLEAVE_CODE_CHOOSE(code_u32);
}
template <>
const ProductCode<std::uint64_t>& product_code() {
  return CLEAVE_CODE_CHOOSE(code_u64);
}

}  // namespace cleave::runtime::host
