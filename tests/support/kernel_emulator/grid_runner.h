// GridRunner: runs a compiled kernel over a grid, one block after the other. A block's threads are fibers that switch at synchronizations
// (barriers, exchanges between lanes); threads that miss a synchronization are detected. It knows neither sources nor the compiler.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/base/result.h"
#include "tests/support/kernel_emulator/memory_checker.h"
#include "tests/support/kernel_emulator/stack_switch.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

/// Mirrored in shim.h.
struct EmulatorIndex {
  unsigned x = 0, y = 0, z = 0;
};
struct EmulatorHooks {
  const EmulatorIndex *thread, *block, *block_size, *grid_size;
  void (*access)(const void* address, unsigned long bytes, int access);
  void (*barrier)(int line);
  unsigned long long (*collective)(int kind, unsigned mask, unsigned long long value, unsigned source);
  void* (*dynamic_shared)();
  void (*undefined)(const char* what, unsigned line);
};

/// A kernel of a loaded text.
struct CompiledKernel {
  unsigned long (*entry)(const unsigned long long* parameters) = nullptr;  ///< with null: the number of parameters
  EmulatorHooks* hooks = nullptr;
  bool meets = false;  ///< whether its threads synchronize anywhere
  std::byte *shared_begin = nullptr, *shared_end = nullptr;
  std::byte *image_begin = nullptr, *image_end = nullptr;  ///< constants of the text
};

struct GridShape {
  EmulatorIndex grid, block;
  unsigned dynamic_shared_bytes = 0;
};

class GridRunner {
 public:
  /// The order in which threads and blocks run: a result must not depend on it.
  enum class Order { forward, backward };

  /// An Error says what the kernel did wrong, with the thread and block.
  Status run(const CompiledKernel& kernel, const GridShape& shape, const unsigned long long* parameters, MemoryChecker& memory,
             Order order);

 private:
  enum class State { ready, at_barrier, in_warp, done };
  struct Fiber {
    StackContext place_on_stack;
    std::unique_ptr<std::byte[]> stack;
    State state = State::ready;
    unsigned thread = 0, end = 0;  ///< runs threads `thread` to `end` - 1, one after the other
    int place = 0;                 ///< the line of its barrier, or the kind of its warp operation
    unsigned mask = 0, source = 0;
    unsigned long long value = 0;
  };
  struct alignas(128) Line {
    std::byte bytes[128];
  };

  void run_block();
  void start_fiber(Fiber& fiber, unsigned thread);
  void resume(Fiber& fiber);
  void yield();
  static void run_threads();
  void set_thread(unsigned thread);
  /// Ends the launch; `what` describes the error of the running thread.
  void stop(const std::string& what);
  static std::optional<unsigned> meeting(std::span<const Fiber> lanes, unsigned mask, int place);
  bool release_warp(unsigned warp);
  bool release_block();
  [[nodiscard]] std::string divergence() const;
  [[nodiscard]] std::span<Fiber> warp_of(unsigned warp);

  static thread_local GridRunner* running_;
  static void on_access(const void* address, unsigned long bytes, int access);
  static void on_barrier(int line);
  static unsigned long long on_collective(int kind, unsigned mask, unsigned long long value, unsigned source);
  static void* on_dynamic_shared();
  static void on_undefined(const char* what, unsigned line);

  const CompiledKernel* kernel_ = nullptr;
  const unsigned long long* parameters_ = nullptr;
  MemoryChecker* memory_ = nullptr;
  GridShape shape_;
  Order order_ = Order::forward;
  unsigned threads_ = 0;  ///< threads in a block
  EmulatorIndex thread_, block_;
  std::vector<Fiber> fibers_;
  std::size_t active_ = 0;  ///< fibers in use by this launch
  Fiber* current_ = nullptr;
  StackContext scheduler_;
  std::vector<Line> dynamic_;
  std::string wrong_;
};

}  // namespace cleave::testing
