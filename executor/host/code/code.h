// Code: generated machine code for a run of simple steps of a fused group, with intermediate values in registers. Its one door is
// Code::make. Results are bit for bit those of the steps' loops. If cleave is built without Xbyak, the machine lacks AVX2, or the system
// refuses executable memory, there is no code, and the loops run instead.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "executor/host/code/executable_memory.h"
#include "executor/host/instructions.h"
#include "graph/kernel/kernel_request.h"

namespace cleave::runtime::host {

class Code {
 public:
  /// Generates code for as many of the request's steps as possible, from `first` on. `repeats`: by input, whether it is a single element.
  /// Null: there is no code for at least `fewest` steps.
  static std::unique_ptr<Code> make(const kernels::KernelRequest& request, const std::vector<bool>& repeats, std::size_t first,
                                    std::size_t fewest, Instructions set);
  /// The same for the machine's best instruction set.
  static std::unique_ptr<Code> make(const kernels::KernelRequest& request, const std::vector<bool>& repeats, std::size_t first,
                                    std::size_t fewest);

  [[nodiscard]] std::size_t steps() const { return steps_; }
  /// The group's values (its inputs, then the results of its steps) that the code reads, and those that it writes because others read them.
  [[nodiscard]] std::span<const std::size_t> reads() const { return reads_; }
  [[nodiscard]] std::span<const std::size_t> writes() const { return writes_; }

  /// Operands are contiguous, or one element if the operand repeats. Any alignment is accepted; a result may overlap an operand if both
  /// start at the same address. `past_cache`: use non-temporal stores, because results are too large to be read from the cache again.
  void run(const std::byte* const* reads, std::byte* const* writes, std::int64_t count, bool past_cache) const;

 private:
  Code() = default;

  std::size_t steps_ = 0, streams_ = 0;  ///< streams: the first of `reads_`
  std::vector<std::size_t> reads_, writes_;
  std::vector<std::int64_t> sizes_;  ///< bytes of an element, by stream, then by result
  std::int64_t lanes_ = 1;
  ExecutableMemory memory_;
};

}  // namespace cleave::runtime::host
