#include "graph/base/map_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "graph/base/fault_handler.h"
#include "graph/base/forks.h"

namespace cleave {
namespace {

// A signal handler can access only statics.
struct Range {
  std::atomic<std::uintptr_t> begin = 0, end = 0;
  std::atomic<bool> cut = false;
  std::atomic<std::size_t> read = 0;  ///< bytes that may have come into memory since pages were released
};
std::array<Range, 256> ranges;
std::atomic<int> guarded = 0;  ///< ranges
/// The kernel brings up to this many bytes around an accessed address into memory.
constexpr std::size_t kAround = 64 << 10;
constexpr std::size_t kMostRead = 32 << 20;
const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));

/// Protects registering and releasing ranges.
std::mutex& ranges_mutex() {
  static auto* const mutex = new PerProcess<std::mutex>;
  return **mutex;
}

/// Replaces a page beyond the end of its truncated file by zeros, and marks its range.
bool replace_cut_page(std::uintptr_t address) {
  for (Range& range : ranges) {
    if (address < range.begin.load() || range.end.load() <= address) continue;
    range.cut = true;
    auto* const page = reinterpret_cast<void*>(address / page_bytes * page_bytes);
    if (::mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) return true;
  }
  return false;
}

Range& range_of(int guard) {
  return ranges[static_cast<std::size_t>(guard)];
}

}  // namespace

int guard_map(const void* begin, std::size_t bytes) {
  FaultHandler<SIGBUS, replace_cut_page>::install();
  const std::lock_guard lock(ranges_mutex());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    Range& range = ranges[i];
    if (range.end.load() != 0) continue;
    range.cut = false;
    range.read = 0;
    ++guarded;
    range.begin = reinterpret_cast<std::uintptr_t>(begin);
    range.end = reinterpret_cast<std::uintptr_t>(begin) + bytes;
    return static_cast<int>(i);
  }
  return -1;
}

bool found_cut(int guard) {
  return guard >= 0 && range_of(guard).cut;
}

void release_guard(int guard) {
  if (guard < 0) return;
  const std::lock_guard lock(ranges_mutex());
  --guarded;
  range_of(guard).end = 0;
  range_of(guard).begin = 0;
}

void count_reads(const void* begin, std::size_t bytes, std::size_t pieces) {
  if (guarded.load(std::memory_order_relaxed) == 0) return;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  for (Range& range : ranges) {
    const std::uintptr_t first = range.begin.load(), last = range.end.load();
    if (address < first || last <= address) continue;
    if (range.read.fetch_add((bytes + kAround) * pieces) + (bytes + kAround) * pieces < kMostRead) return;
    range.read = 0;
    const std::uintptr_t aligned = first / page_bytes * page_bytes;
    ::madvise(reinterpret_cast<void*>(aligned), last - aligned, MADV_DONTNEED);
    return;
  }
}

void drop_pages(std::string_view bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data()), end = begin + bytes.size();
  const std::uintptr_t first = (begin + page_bytes - 1) / page_bytes * page_bytes, last = end / page_bytes * page_bytes;
  if (first >= last) return;
  for (const Range& range : ranges)
    if (range.begin.load() <= begin && end <= range.end.load()) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace cleave
