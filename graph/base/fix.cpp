#include "graph/base/fix.h"

#include <algorithm>

namespace cleave {

std::vector<const Fix*> fixes_of(const Diagnostic& diagnostic, const std::vector<Fix>& fixes) {
  std::vector<const Fix*> found;
  if (diagnostic.severity == Severity::allowed) return found;
  for (const Fix& fix : fixes) {
    const bool known = std::any_of(found.begin(), found.end(), [&](const Fix* other) { return other->id == fix.id; });
    if (!known && fix.said.is(diagnostic)) found.push_back(&fix);
  }
  return found;
}

}  // namespace cleave
