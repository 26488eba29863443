// KernelEmulator: runs generated CUDA text on the CPU, so that kernels can be compared with their oracle on any machine. Texts are compiled
// in batches by the host's C++ compiler behind a prelude (shim.h), unless an earlier build has cached them (unit_cache.h). A grid runs
// block after block, its threads as fibers (grid_runner.h), and every access is checked (memory_checker.h). A kernel with an invalid
// access, a race, or a wait that never ends gives an Error that says so.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executor/cuda/kernel_source.h"
#include "graph/array/array.h"
#include "tests/support/kernel_emulator/grid_runner.h"
#include "tests/support/kernel_emulator/unit_cache.h"
#include "tests/support/kernel_emulator/unit_text.h"
#include "tests/support/namespaces.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {

class KernelEmulator {
 public:
  using Order = GridRunner::Order;

  /// The reason why the emulator is not available on this machine; empty if it is.
  static std::string unavailable();
  /// Compiled texts are read from `folder` and kept there for other processes.
  explicit KernelEmulator(const std::string& folder = UnitCache::shared_folder());
  KernelEmulator(const KernelEmulator&) = delete;
  KernelEmulator& operator=(const KernelEmulator&) = delete;
  ~KernelEmulator();

  /// Adds a source that will be run. Compiling is slow: sources that are added before the first run are compiled together.
  void add(const cuda::KernelSource& source);
  /// Compiles the added sources; runs call it by themselves. An Error has the compiler's message.
  Status compile();

  /// Executes one launch of an added source, on memory at any address.
  Status launch(const cuda::KernelSource& source, std::size_t launch, std::span<const unsigned long long> parameters, MemoryChecker& memory,
                Order order = Order::forward);
  /// The number of texts that were compiled because the folder did not have them.
  [[nodiscard]] std::size_t compiled() const { return compiled_; }
  /// The number of launches so far.
  [[nodiscard]] std::int64_t launches() const { return launches_; }
  /// Runs a whole operation: all of its launches. The results may be uninitialized before. Invalid data are a user Error, as reported
  /// through `fault`; a wrong access or race of a kernel is a machine Error.
  Status run(const cuda::KernelSource& source, std::span<const Array> inputs, std::span<Array> results, Order order = Order::forward);

 private:
  struct Text {
    bool compiled = false;
    std::map<std::string, CompiledKernel> entries;
  };

  Status load(const std::string& path, const std::vector<UnitPiece>& pieces);
  UnitPiece piece_of(const std::string& text) const;

  test::TemporaryFolder folder_;
  UnitCache cache_;
  std::map<std::string, Text> texts_;
  std::vector<const std::string*> pending_;
  std::map<std::string, void*> libraries_;  ///< by path
  std::size_t compiled_ = 0;
  GridRunner runner_;
  std::int64_t launches_ = 0;
};

}  // namespace cleave::testing
