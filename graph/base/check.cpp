#include "graph/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace cleave::detail {

void check_failed(const char* condition, const char* file, int line, const char* message) {
  std::fprintf(stderr, "cleave: internal error at %s:%d: check failed: %s%s%s\nThis is a bug of cleave; please report it.\n", file, line,
               condition, *message ? ": " : "", message);
  std::abort();
}

}  // namespace cleave::detail
