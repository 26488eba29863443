#include "executor/host/quantized/code.h"

#include "executor/host/instructions.h"

namespace cleave::runtime::host {

namespace portable {
const QuantizedCode& quantized();
}
#if defined(__x86_64__)
namespace avx2 {
const QuantizedCode& quantized();
}
#ifndef CLEAVE_NO_AVX512
namespace avx512 {
const QuantizedCode& quantized();
}
namespace vnni {
const QuantizedCode& quantized();
}
#endif
#endif

const QuantizedCode& quantized_code() {
#if defined(__x86_64__)
#ifndef CLEAVE_NO_AVX512
  if (instructions() == Instructions::avx512) return has_vnni() ? vnni::quantized() : avx512::quantized();
#endif
  if (instructions() == Instructions::avx2) return avx2::quantized();
#endif
  return portable::quantized();
}

}  // namespace cleave::runtime::host
