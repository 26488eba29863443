#include "tests/support/kernel_emulator/memory_checker.h"
#include "tests/support/namespaces.h"

#include <algorithm>
#include <bit>

#include "graph/base/check.h"

namespace cleave::testing {

void MemoryChecker::add(KernelMemory memory) {
  if (memory.bytes == 0) return;
  CLEAVE_CHECK(std::has_single_bit(static_cast<std::uint64_t>(memory.element)), "an element is a power of two of bytes");
  for (Region& region : regions_) {  // a result may share memory with an operand: then both are one region
    if (region.memory.address != memory.address) continue;
    region.memory.bytes = std::max(region.memory.bytes, memory.bytes);
    region.memory.element = std::min(region.memory.element, memory.element);
    region.memory.defined |= memory.defined;
    region.memory.writable |= memory.writable;
    region.cells.assign(static_cast<std::size_t>(region.memory.bytes / region.memory.element), {});
    return;
  }
  const auto cells = static_cast<std::size_t>(memory.bytes / memory.element);
  regions_.push_back({std::move(memory), false, std::vector<Cell>(cells)});
}

void MemoryChecker::add_shared(std::uint64_t address, std::int64_t bytes, std::string name) {
  if (bytes == 0) return;
  for (const Region& region : regions_) {
    if (region.memory.address == address) return;
  }
  regions_.push_back({{address, bytes, 1, std::move(name), false, true, false}, true, std::vector<Cell>(static_cast<std::size_t>(bytes))});
}

void MemoryChecker::begin_block() {
  block_ = block_barrier_ = ++now_;
  warp_barriers_.fill(now_);
}

MemoryChecker::Region* MemoryChecker::find(std::uint64_t address) {
  const auto holds = [&](const Region& region) {
    return address >= region.memory.address && address < region.memory.address + static_cast<std::uint64_t>(region.memory.bytes);
  };
  if (last_ < regions_.size() && holds(regions_[last_])) return &regions_[last_];
  for (last_ = 0; last_ < regions_.size(); ++last_) {
    if (holds(regions_[last_])) return &regions_[last_];
  }
  return nullptr;
}

std::string MemoryChecker::outside(std::uint64_t address, std::uint64_t bytes, const char* verb) const {
  const Region* nearest = nullptr;
  for (const Region& region : regions_) {
    if (region.memory.address <= address && (!nearest || region.memory.address > nearest->memory.address)) nearest = &region;
  }
  std::string text = verb + std::to_string(bytes) + " bytes outside of its memory";
  if (nearest)
    text += ": at byte " + std::to_string(address - nearest->memory.address) + " of the " + std::to_string(nearest->memory.bytes) + " of " +
            nearest->memory.name;
  return text;
}

/// The running thread's place among the barriers: what an access is compared with.
class MemoryChecker::Moment {
 public:
  Moment(const MemoryChecker& checker, unsigned thread)
      : now{checker.now_, thread},
        block(checker.block_),
        launch_(checker.launch_),
        block_barrier_(checker.block_barrier_),
        warp_barrier_(checker.warp_barriers_[thread / kWarp]) {}

  /// Whether no barrier orders `before` against an access now.
  [[nodiscard]] bool conflicts(const Visit& before) const {
    if (before.when < launch_) return false;  // or never
    if (before.when < block) return true;     // another block
    if (before.thread == now.thread || before.when < block_barrier_) return false;
    return before.thread / kWarp != now.thread / kWarp || before.when >= warp_barrier_;
  }

  const Visit now;
  const std::uint32_t block;

 private:
  const std::uint32_t launch_, block_barrier_, warp_barrier_;
};

bool MemoryChecker::is_written(const Region& region, const Cell& cell) const {
  return cell.written.when > 0 && (!region.shared || cell.written.when >= block_);
}

bool MemoryChecker::visit(Region& region, std::span<Cell> cells, unsigned thread, Access access) const {
  const Moment moment(*this, thread);
  const std::uint32_t oldest = region.shared ? moment.block : 1;  // what was written before is history of another block
  const bool shared = region.shared, racy = region.memory.racy, reads = access == Access::read;
  const bool needs_value = (reads || access == Access::atomic) && !region.memory.defined;
  const bool atomic = access == Access::atomic || access == Access::atomic_write;
  for (Cell& cell : cells) {
    if (cell.written.when < oldest) {
      if (shared) cell = {};
      if (needs_value) return false;
    }
    if (!racy) {
      if (!(atomic && cell.atomically) && moment.conflicts(cell.written)) return false;
      if (!reads && (moment.conflicts(cell.read[0]) || moment.conflicts(cell.read[1]))) return false;
    }
    if (reads) {
      if (cell.read[0].thread != thread) cell.read[1] = cell.read[0];
      cell.read[0] = moment.now;
    } else {
      cell.written = moment.now;
      cell.atomically = atomic;
    }
  }
  return true;
}

std::string MemoryChecker::error(const Region& region, const Cell& cell, unsigned thread, Access access) const {
  if ((access == Access::read || access == Access::atomic) && !is_written(region, cell) && !region.memory.defined)
    return "reads what nobody wrote";
  if (region.memory.racy) return {};
  const Moment moment(*this, thread);
  const auto of_another = [&](const Visit& visit) { return std::string(visit.when < block_ ? " of another block" : ""); };
  const bool atomic = access == Access::atomic || access == Access::atomic_write;
  if (!(atomic && cell.atomically) && moment.conflicts(cell.written))
    return (access == Access::read ? "reads what thread " : "overwrites what thread ") + std::to_string(cell.written.thread) +
           of_another(cell.written) + " wrote, with no barrier between";
  for (const Visit& read : cell.read) {
    if (access != Access::read && moment.conflicts(read))
      return "overwrites what thread " + std::to_string(read.thread) + of_another(read) + " reads, with no barrier between";
  }
  return {};
}

bool MemoryChecker::allows(unsigned thread, std::uint64_t address, std::uint64_t bytes, Access access) {
  Region* region = find(address);
  if (!region) return false;
  const std::uint64_t offset = address - region->memory.address;
  if (offset + bytes > static_cast<std::uint64_t>(region->memory.bytes)) return false;
  if (bytes <= 16 && address % bytes != 0) return false;
  if (access != Access::read && !region->memory.writable) return false;
  if (region->takes_any(access)) return true;
  const int shift = std::countr_zero(static_cast<std::uint64_t>(region->memory.element));
  const std::uint64_t first = offset >> shift, last = (offset + bytes - 1) >> shift;
  return visit(*region, std::span(region->cells).subspan(first, last - first + 1), thread, access);
}

std::string MemoryChecker::error(unsigned thread, std::uint64_t address, std::uint64_t bytes, Access access) {
  const char* verb = access == Access::read ? "reads " : "writes ";
  const Region* region = find(address);
  if (!region) return outside(address, bytes, verb);
  const std::uint64_t offset = address - region->memory.address;
  if (offset + bytes > static_cast<std::uint64_t>(region->memory.bytes)) return outside(address, bytes, verb);
  if (bytes <= 16 && address % bytes != 0) return verb + std::to_string(bytes) + " bytes that are not aligned, in " + region->memory.name;
  if (access != Access::read && !region->memory.writable) return "writes " + region->memory.name + ", which it may only read";
  const auto element = static_cast<std::uint64_t>(region->memory.element);
  for (std::uint64_t cell = offset / element; cell * element < offset + bytes; ++cell) {
    const std::string wrong = error(*region, region->cells[cell], thread, access);
    if (!wrong.empty()) return wrong + ", in " + region->memory.name + " at byte " + std::to_string(cell * element);
  }
  CLEAVE_CHECK(false, "an access that is valid has no error");
  return {};
}

}  // namespace cleave::testing
