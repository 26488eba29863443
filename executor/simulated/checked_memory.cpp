#include "executor/simulated/checked_memory.h"

#include <cstring>

namespace cleave::runtime {
namespace {

std::uint64_t checksum(const std::byte* data, std::int64_t bytes) {
  std::uint64_t sum = 0xcbf29ce484222325U;  // FNV-1a, eight bytes a step
  std::int64_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, data + i, 8);
    sum = (sum ^ word) * 0x100000001b3U;
    sum ^= sum >> 29;
  }
  for (; i < bytes; ++i) sum = (sum ^ static_cast<std::uint64_t>(data[i])) * 0x100000001b3U;
  return sum;
}

}  // namespace

Status CheckedMemory::allocate(std::int64_t bytes) {
  Result<std::unique_ptr<SimulatedMemory>> memory = SimulatedMemory::create(bytes, check_);
  if (!memory) return memory.error();
  memory_ = std::move(*memory);
  return {};
}

Status CheckedMemory::check_written(const Range& range) const {
  if (memory_->written(range)) return {};
  return Error{"reads accelerator memory that nobody wrote (a transfer or wait is missing)", {}, ErrorKind::machine};
}

Status CheckedMemory::transfer(std::byte* to, const std::byte* from, std::int64_t bytes, bool damage) const {
  if (bytes == 0) return {};
  std::uint64_t sent = compare_ ? checksum(from, bytes) : 0;
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
  if (damage) to[bytes / 2] ^= std::byte{0x10};
  if (compare_ && checksum(to, bytes) != sent) return Error{"a transfer arrived with other bytes than were sent", {}, ErrorKind::machine};
  return {};
}

Status CheckedMemory::bring(const Range& to, const std::byte* from, bool damage) {
  Status status = transfer(memory_->alias(to.offset), from, to.bytes, damage);
  if (status) memory_->mark_written(to);
  return status;
}

Status CheckedMemory::fetch(std::byte* to, const Range& from, bool damage) const {
  Status status = check_written(from);
  return status ? transfer(to, memory_->alias(from.offset), from.bytes, damage) : status;
}

Status CheckedMemory::take(const Range& to, const CheckedMemory& other, const Range& from, bool damage) {
  if (Status status = other.check_written(from); !status) return status;
  Status status = transfer(memory_->alias(to.offset), other.memory_->alias(from.offset), from.bytes, damage);
  if (status) memory_->mark_written(to);
  return status;
}

Status CheckedMemory::copy(const Range& to, const Range& from) {
  if (Status status = check_written(from); !status) return status;
  if (to.bytes > 0) std::memcpy(memory_->alias(to.offset), memory_->alias(from.offset), static_cast<std::size_t>(to.bytes));
  memory_->mark_written(to);
  return {};
}

void CheckedMemory::fill(const Range& to, std::int32_t value) {
  for (std::int64_t i = 0; i + 4 <= to.bytes; i += 4) std::memcpy(memory_->alias(to.offset + i), &value, 4);
  memory_->mark_written(to);
}

}  // namespace cleave::runtime
