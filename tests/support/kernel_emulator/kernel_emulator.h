// KernelEmulator: runs generated CUDA text on the CPU, so that kernels meet their oracle on any machine. Texts are compiled in batches by
// the host's C++ compiler behind a prelude (shim.h); a grid runs block after block, its threads as fibers (grid_runner.h); every access is
// checked (memory_checker.h). A kernel that reads or writes where it may not, races, or waits for what does not come is an Error that says
// so.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executor/cuda/kernel_source.h"
#include "graph/array/array.h"
#include "tests/support/kernel_emulator/grid_runner.h"
#include "tests/support/namespaces.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {

class KernelEmulator {
 public:
  using Order = GridRunner::Order;

  /// Why there is none on this machine; empty: there is.
  static std::string unavailable();
  KernelEmulator() = default;
  KernelEmulator(const KernelEmulator&) = delete;
  KernelEmulator& operator=(const KernelEmulator&) = delete;
  ~KernelEmulator();

  /// A source that will be run. Compiling is slow: add many, and they are compiled together.
  void add(const cuda::KernelSource& source);
  /// What was added; runs see to it by themselves. An Error is what the compiler says.
  Status compile();

  /// One launch of an added source on memory anywhere.
  Status launch(const cuda::KernelSource& source, std::size_t launch, std::span<const unsigned long long> parameters, MemoryChecker& memory,
                Order order = Order::forward);
  /// How many there were.
  [[nodiscard]] std::int64_t launches() const { return launches_; }
  /// A whole operation: all launches. Results may be undefined before. Bad data are an Error (user), as `fault` says it; what a kernel does
  /// wrong is one of the machine.
  Status run(const cuda::KernelSource& source, std::span<const Array> inputs, std::span<Array> results, Order order = Order::forward);

 private:
  struct Text {
    std::size_t number = 0;
    bool compiled = false;
    std::map<std::string, CompiledKernel> entries;
  };

  Status load(const std::string& path, std::span<const std::string* const> texts);
  std::string translation_unit(std::span<const std::string* const> texts) const;

  test::TemporaryFolder folder_;
  std::map<std::string, Text> texts_;
  std::vector<const std::string*> pending_;
  std::vector<void*> libraries_;
  GridRunner runner_;
  std::int64_t launches_ = 0;
};

}  // namespace cleave::testing
