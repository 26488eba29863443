#include "executor/host/convolution/code.h"

#include "executor/host/instructions.h"

namespace cleave::runtime::host {

#define CLEAVE_CODE_DECLARE(name)                   \
  namespace name {                                  \
  const ConvolutionCode<float>& convolution_f32();  \
  const ConvolutionCode<double>& convolution_f64(); \
  }
CLEAVE_CODE_DECLARE(portable)
#if defined(__x86_64__)
CLEAVE_CODE_DECLARE(avx2)
#ifdef CLEAVE_NO_AVX512
namespace avx512 = avx2;
#else
CLEAVE_CODE_DECLARE(avx512)
#endif
#define CLEAVE_CODE_CHOOSE(name) choose(portable::name(), avx2::name(), avx512::name())
#else
#define CLEAVE_CODE_CHOOSE(name) choose(portable::name(), portable::name(), portable::name())
#endif
#undef CLEAVE_CODE_DECLARE

namespace {

template <class T>
const ConvolutionCode<T>& choose(const ConvolutionCode<T>& portable, const ConvolutionCode<T>& avx2, const ConvolutionCode<T>& avx512) {
  switch (instructions()) {
    case Instructions::avx512: return avx512;
    case Instructions::avx2: return avx2;
    default: return portable;
  }
}

}  // namespace

template <>
const ConvolutionCode<float>& convolution_code() {
  return CLEAVE_CODE_CHOOSE(convolution_f32);
}
template <>
const ConvolutionCode<double>& convolution_code() {
  return CLEAVE_CODE_CHOOSE(convolution_f64);
}

}  // namespace cleave::runtime::host
