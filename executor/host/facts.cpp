#include "executor/host/facts.h"

#include "executor/device/workers.h"
#include "executor/host/instructions.h"
#include "executor/host/simd/level.h"

namespace cleave::runtime::host {
Facts facts() {
#ifdef CLEAVE_HAS_HIGHWAY
  constexpr bool kHighway = true;
#else
  constexpr bool kHighway = false;
#endif
  const std::string_view set = levels().empty() ? to_string(instructions()) : to_string(levels().front());
  return {std::string(set), Workers::available(), kHighway};
}

}  // namespace cleave::runtime::host
