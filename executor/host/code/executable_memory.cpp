#include "executor/host/code/executable_memory.h"

#include <sys/mman.h>

#include <cstring>

namespace cleave::runtime::host {

ExecutableMemory::ExecutableMemory(std::span<const std::byte> code) : bytes_(code.size()) {
  if (code.empty()) return;
  void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  std::memcpy(memory, code.data(), bytes_);
  if (::mprotect(memory, bytes_, PROT_READ | PROT_EXEC) == 0) {
    memory_ = memory;
  } else {  // some systems refuse to execute pages that were writable before
    ::munmap(memory, bytes_);
  }
}

ExecutableMemory::~ExecutableMemory() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

}  // namespace cleave::runtime::host
