#include "executor/simulated/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "executor/memory/arena.h"
#include "graph/base/host_memory.h"
#include "graph/base/units.h"

namespace cleave::runtime {

Result<std::unique_ptr<SimulatedMemory>> SimulatedMemory::create(std::int64_t bytes, bool check) {
  std::unique_ptr<SimulatedMemory> memory(new SimulatedMemory);
  auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  memory->size_ = (static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)) + page - 1) / page * page;
  Error error{"cannot get " + format_bytes(static_cast<double>(bytes)) + " for the simulated accelerator", {}, ErrorKind::machine};
  constexpr std::size_t kLarge = 64 << 20;
  if (memory->size_ >= kLarge && memory->size_ > static_cast<std::size_t>(host_memory().bytes)) return error;
  int file = memfd_create("cleave", MFD_CLOEXEC);
  if (file < 0) return error;
  bool sized = ftruncate(file, static_cast<off_t>(memory->size_)) == 0;
  void* trapped = sized ? mmap(nullptr, memory->size_, PROT_NONE, MAP_SHARED, file, 0) : MAP_FAILED;
  void* alias = sized ? mmap(nullptr, memory->size_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  close(file);
  if (trapped != MAP_FAILED) memory->trapped_ = static_cast<std::byte*>(trapped);
  if (alias != MAP_FAILED) memory->alias_ = static_cast<std::byte*>(alias);
  if (!memory->trapped_ || !memory->alias_) return error;
  memory->trap_ = std::make_unique<TrappedRange>(trapped, memory->size_);
  if (check) memory->shadow_.resize(memory->size_);
  memory->poison({0, bytes});
  return memory;
}

SimulatedMemory::~SimulatedMemory() {
  if (trapped_) munmap(trapped_, size_);
  if (alias_) munmap(alias_, size_);
}

void SimulatedMemory::poison(const Range& range) {
  if (range.bytes == 0) return;
  std::memset(alias_ + range.offset, kPoison, static_cast<std::size_t>(range.bytes));
  if (!shadow_.empty()) std::fill_n(shadow_.begin() + range.offset, range.bytes, std::uint8_t{0});
}

void SimulatedMemory::mark_written(const Range& range) {
  if (range.bytes == 0) return;
  if (!shadow_.empty()) std::fill_n(shadow_.begin() + range.offset, range.bytes, std::uint8_t{1});
  std::int64_t end = Arena::rounded(range.offset + range.bytes);
  std::int64_t seen = touched_.load();
  while (seen < end && !touched_.compare_exchange_weak(seen, end)) {
  }
}

bool SimulatedMemory::written(const Range& range) const {
  if (shadow_.empty() || range.bytes == 0) return true;
  auto first = shadow_.begin() + range.offset;
  return std::find(first, first + range.bytes, std::uint8_t{0}) == first + range.bytes;
}

}  // namespace cleave::runtime
