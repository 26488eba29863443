#include "tests/support/scarce_memory.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

#include "tests/support/sanitized.h"

namespace {

constexpr std::int64_t kPlenty = std::numeric_limits<std::int64_t>::max() / 2;
std::atomic<std::int64_t> left = kPlenty;  ///< negative: an allocation has failed
std::atomic<bool> lasting = false;

[[maybe_unused]] bool refuse() {
  if (left.load(std::memory_order_relaxed) > kPlenty / 2) return false;
  const std::int64_t before = left.fetch_sub(1);
  return lasting ? before <= 0 : before == 0;
}

}  // namespace

#if !CLEAVE_SANITIZED
static void* allocate(std::size_t size, std::size_t alignment) {
  if (refuse()) throw std::bad_alloc();
  void* memory = nullptr;
  if (::posix_memalign(&memory, alignment, size > 0 ? size : 1) != 0) throw std::bad_alloc();
  return memory;
}

// The other forms (arrays, nothrow) call these.
void* operator new(std::size_t size) {
  return allocate(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

extern "C" void* __libc_calloc(std::size_t count, std::size_t size);  // NOLINT(bugprone-reserved-identifier): the C library's own name
extern "C" void* calloc(std::size_t count, std::size_t size) {
  return refuse() ? nullptr : __libc_calloc(count, size);
}
#endif

namespace cleave::testing {

ScarceMemory::ScarceMemory(std::int64_t more, Shortage shortage) {
  lasting = shortage == Shortage::lasting;
  left = more;
}
ScarceMemory::~ScarceMemory() {
  left = kPlenty;
}
bool ScarceMemory::refused() const {
  return left < 0;
}

}  // namespace cleave::testing
