#include "tests/support/few_threads.h"
#include "tests/support/namespaces.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <limits>

namespace {

constexpr int kMany = std::numeric_limits<int>::max();
std::atomic<int> left = kMany;
std::atomic<int> refusals = 0;

bool granted() {
  if (left == kMany || left.fetch_sub(1) > 0) return true;
  ++refusals;
  return false;
}

}  // namespace

/// The sanitizer's own pthread_create; null without one. Where a sanitizer is linked statically, `dlsym` would skip its function.
extern "C" [[gnu::weak]] int __interceptor_pthread_create(  // NOLINT(bugprone-reserved-identifier): the sanitizer's own name
    pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* argument);

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const Create real =
      __interceptor_pthread_create ? &__interceptor_pthread_create : reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return granted() ? real(thread, attributes, work, argument) : EAGAIN;
}

namespace cleave::testing {

FewThreads::FewThreads(int more) {
  refusals = 0;
  left = more;
}
FewThreads::~FewThreads() {
  left = kMany;
}
int FewThreads::refused() const {
  return refusals;
}

int count_threads() {
  int count = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) count += thread.exists() ? 1 : 0;
  return count;
}

}  // namespace cleave::testing
