#include "tests/support/kernel_emulator/memory_checker.h"
#include "tests/support/namespaces.h"

#include <algorithm>

namespace cleave::testing {

void MemoryChecker::add(KernelMemory memory) {
  if (memory.bytes == 0) return;
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

/// Whether no barrier orders `before` against an access by `thread` now.
bool MemoryChecker::conflicts(const Visit& before, unsigned thread) const {
  if (before.when < launch_ || before.when == 0) return false;
  if (before.when < block_) return true;  // another block
  if (before.thread == thread || before.when < block_barrier_) return false;
  return before.thread / kWarp != thread / kWarp || before.when >= warp_barriers_[thread / kWarp];
}

std::string MemoryChecker::visit(Region& region, Cell& cell, unsigned thread, Access access) {
  const Visit now{now_, thread};
  const bool written = cell.written.when > 0 && (!region.shared || cell.written.when >= block_);
  if (region.shared && !written) cell = {};  // history of another block
  if ((access == Access::read || access == Access::atomic) && !written && !region.memory.defined) return "reads what nobody wrote";
  const bool atomic = access == Access::atomic || access == Access::atomic_write;
  if (!region.memory.racy) {
    if (!(atomic && cell.atomically) && conflicts(cell.written, thread))
      return (access == Access::read ? "reads what thread " : "overwrites what thread ") + std::to_string(cell.written.thread) +
             (cell.written.when < block_ ? " of another block" : "") + " wrote, with no barrier between";
    for (const Visit& read : cell.read) {
      if (access != Access::read && conflicts(read, thread))
        return "overwrites what thread " + std::to_string(read.thread) + (read.when < block_ ? " of another block" : "") +
               " reads, with no barrier between";
    }
  }
  if (access == Access::read) {
    if (cell.read[0].thread != thread) cell.read[1] = cell.read[0];
    cell.read[0] = now;
  } else {
    cell.written = now;
    cell.atomically = atomic;
  }
  return {};
}

std::string MemoryChecker::check(unsigned thread, std::uint64_t address, std::uint64_t bytes, Access access) {
  const char* verb = access == Access::read ? "reads " : "writes ";
  Region* region = find(address);
  if (!region) return outside(address, bytes, verb);
  const std::uint64_t offset = address - region->memory.address;
  if (offset + bytes > static_cast<std::uint64_t>(region->memory.bytes)) return outside(address, bytes, verb);
  if (bytes <= 16 && address % bytes != 0) return verb + std::to_string(bytes) + " bytes that are not aligned, in " + region->memory.name;
  if (access != Access::read && !region->memory.writable) return "writes " + region->memory.name + ", which it may only read";
  const auto element = static_cast<std::uint64_t>(region->memory.element);
  for (std::uint64_t cell = offset / element; cell * element < offset + bytes; ++cell) {
    std::string wrong = visit(*region, region->cells[cell], thread, access);
    if (!wrong.empty()) return wrong + ", in " + region->memory.name + " at byte " + std::to_string(cell * element);
  }
  return {};
}

}  // namespace cleave::testing
