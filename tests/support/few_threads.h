// FewThreads: simulates a system that is short of threads. It replaces `pthread_create` in the program that it is linked into, so each test
// that uses it must be named in tests/CMakeLists.txt.
#pragma once

#include "tests/support/namespaces.h"

namespace cleave::testing {

/// While this lives, `more` threads can be started in this process; then the system refuses.
class FewThreads {
 public:
  explicit FewThreads(int more);
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;
  ~FewThreads();
  /// How many were refused.
  [[nodiscard]] int refused() const;
};

/// How many threads this process has.
int count_threads();

}  // namespace cleave::testing
