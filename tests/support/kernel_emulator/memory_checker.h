// MemoryChecker: checks every access of a running kernel: it must be inside the memory that the kernel was given, aligned, to initialized
// bytes, and ordered by a barrier against other threads' accesses there. It knows addresses and thread numbers, not fibers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/namespaces.h"

namespace cleave::testing {

/// Memory that a kernel may touch.
struct KernelMemory {
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  std::int64_t element = 4;  ///< bytes: what threads write apart from each other
  std::string name;          ///< "operand 1"
  bool defined = true;       ///< somebody wrote it before
  bool writable = false;
  bool racy = false;  ///< any number of threads may write it, the order does not matter
};

class MemoryChecker {
 public:
  static constexpr unsigned kWarp = 32;
  enum class Access : int { read, write, atomic, atomic_write };  ///< as in shim.h

  void add(KernelMemory memory);
  /// Memory of the block that is to start, undefined at first; `begin_block` makes it so.
  void add_shared(std::uint64_t address, std::int64_t bytes, std::string name);

  void begin_launch() { launch_ = ++now_; }
  void begin_block();
  void block_barrier() { block_barrier_ = ++now_; }
  void warp_barrier(unsigned warp) { warp_barriers_[warp] = ++now_; }
  /// Empty, or what is wrong with it.
  std::string check(unsigned thread, std::uint64_t address, std::uint64_t bytes, Access access);

 private:
  struct Visit {
    std::uint32_t when = 0, thread = 0;  ///< `when` 0: never
  };
  /// What is known of one element: who wrote it last, and the last two that read it.
  struct Cell {
    Visit written, read[2];
    bool atomically = false;  ///< written
  };
  struct Region {
    KernelMemory memory;
    bool shared = false;  ///< of a block
    std::vector<Cell> cells;
  };

  Region* find(std::uint64_t address);
  [[nodiscard]] std::string outside(std::uint64_t address, std::uint64_t bytes, const char* verb) const;
  [[nodiscard]] bool conflicts(const Visit& before, unsigned thread) const;
  std::string visit(Region& region, Cell& cell, unsigned thread, Access access);

  std::vector<Region> regions_;
  std::size_t last_ = 0;  ///< the region found last
  std::uint32_t now_ = 1, launch_ = 0, block_ = 0, block_barrier_ = 0;
  std::array<std::uint32_t, 32> warp_barriers_{};
};

}  // namespace cleave::testing
