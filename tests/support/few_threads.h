// FewThreads: simulates a system that is short of threads. It replaces `pthread_create` in the program that it is linked into, so each test
// that uses it must be named in tests/CMakeLists.txt.
#pragma once

#include "tests/support/namespaces.h"

namespace cleave::testing {

/// During this object's lifetime, `more` threads can be started in this process; then the system refuses.
class FewThreads {
 public:
  explicit FewThreads(int more);
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;
  ~FewThreads();
  /// The number of refused threads.
  [[nodiscard]] int refused() const;
};

/// The number of threads in this process.
int count_threads();

}  // namespace cleave::testing
