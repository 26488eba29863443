#include "executor/host/simd/loops.h"

namespace cleave::runtime::host {

RowLoop simd_loop(Level level, std::string_view op, DType operand) {
  for (const auto family : {math_loop, arithmetic_loop, comparison_loop, division_loop, half_loop}) {
    if (const RowLoop loop = family(level, op, operand)) return loop;
  }
  return nullptr;
}

}  // namespace cleave::runtime::host
