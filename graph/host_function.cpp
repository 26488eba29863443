#include "graph/host_function.h"

#include <tuple>

namespace cleave {

bool operator==(const HostFunction& a, const HostFunction& b) {
  return std::tie(a.name, a.takes, a.returns, a.pure, a.seconds, a.deadline, a.library, a.symbol) ==
         std::tie(b.name, b.takes, b.returns, b.pure, b.seconds, b.deadline, b.library, b.symbol);
}

}  // namespace cleave
