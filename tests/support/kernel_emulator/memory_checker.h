// MemoryChecker: checks every access of a running kernel: it must be inside the memory that the kernel was given, aligned, to initialized
// bytes, and ordered by a barrier against other threads' accesses there. It knows addresses and thread numbers, not fibers.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/support/namespaces.h"

namespace cleave::testing {

/// Memory that a kernel may touch.
struct KernelMemory {
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  std::int64_t element = 4;  ///< bytes: the unit in which different threads' writes are told apart
  std::string name;          ///< "operand 1"
  bool defined = true;       ///< initialized before the launch
  bool writable = false;
  bool racy = false;  ///< concurrent writes by several threads are allowed
};

class MemoryChecker {
 public:
  static constexpr unsigned kWarp = 32;
  enum class Access : int { read, write, atomic, atomic_write };  ///< as in shim.h

  void add(KernelMemory memory);
  /// Adds shared memory of the next block. It is uninitialized after `begin_block`.
  void add_shared(std::uint64_t address, std::int64_t bytes, std::string name);

  void begin_launch() { launch_ = ++now_; }
  void begin_block();
  void block_barrier() { block_barrier_ = ++now_; }
  void warp_barrier(unsigned warp) { warp_barriers_[warp] = ++now_; }
  /// Whether this access is valid. Kernels spend most of their emulated time here: it builds no text.
  bool allows(unsigned thread, std::uint64_t address, std::uint64_t bytes, Access access);
  /// The error of an access that is not valid.
  std::string error(unsigned thread, std::uint64_t address, std::uint64_t bytes, Access access);

 private:
  class Moment;
  struct Visit {
    std::uint32_t when = 0, thread = 0;  ///< time of the access; 0: never
  };
  /// The history of one element: its last writer and its last two readers.
  struct Cell {
    Visit written, read[2];
    bool atomically = false;  ///< the last write was atomic
  };
  struct Region {
    KernelMemory memory;
    bool shared = false;  ///< block-shared memory
    std::vector<Cell> cells;
    /// Whether every access inside of the region is valid if `access` is one that the region takes at all: then nothing is recorded.
    [[nodiscard]] bool takes_any(Access access) const {
      return !shared && memory.defined && (memory.racy || (access == Access::read && !memory.writable));
    }
  };

  Region* find(std::uint64_t address);
  [[nodiscard]] std::string outside(std::uint64_t address, std::uint64_t bytes, const char* verb) const;
  /// Whether the element was defined before this access.
  [[nodiscard]] bool is_written(const Region& region, const Cell& cell) const;
  /// Records an access to `cells`; false if it is not valid at one of them.
  bool visit(Region& region, std::span<Cell> cells, unsigned thread, Access access) const;
  [[nodiscard]] std::string error(const Region& region, const Cell& cell, unsigned thread, Access access) const;

  std::vector<Region> regions_;
  std::size_t last_ = 0;  ///< index of the region found last
  std::uint32_t now_ = 1, launch_ = 0, block_ = 0, block_barrier_ = 0;
  std::array<std::uint32_t, 32> warp_barriers_{};
};

}  // namespace cleave::testing
