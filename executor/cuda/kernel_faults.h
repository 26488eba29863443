// KernelFaults: the page-locked words in which kernels report invalid data (kernel_source.h).
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "executor/cuda/memory.h"

namespace cleave::runtime::cuda {

class KernelFaults {
 public:
  KernelFaults(Context& context, CudaMemory& memory) : context_(context), memory_(memory) {}

  struct Added {
    std::size_t number = 0;
    CUdeviceptr words = 0;
  };
  /// Makes the words of a kernel that checks its data.
  Result<Added> add(const KernelSource& source, NodeId node);
  /// The kernel is part of a larger command: the last component of its node's position is `order`.
  void set_order(std::size_t number, std::int64_t order) { faults_[number].order = order; }
  /// Must be called before each run.
  void clear() const;
  /// The first fault of the run, if there is one.
  [[nodiscard]] std::optional<CudaStreams::DataFault> find() const;

 private:
  /// The words that a kernel writes when it finds invalid data: its ticket (the number of its command), and the offending value.
  struct FaultWords {
    std::uint64_t* words = nullptr;  ///< page-locked; the device writes them
    [[nodiscard]] std::uint64_t ticket() const { return std::atomic_ref(words[0]).load(std::memory_order_acquire); }
    std::string text;
    std::function<std::string(std::int64_t)> describe;  ///< makes the message; null: `text` is the message
    NodeId node;
    std::optional<std::int64_t> order;  ///< in a segment: the last component of the node's position
  };

  Context& context_;
  CudaMemory& memory_;
  std::vector<FaultWords> faults_;
};

}  // namespace cleave::runtime::cuda
