// Code: a run of simple steps inside a fused group as machine code of its own, in which what one step hands to the next stays in registers.
// The door of this room. Bits are those of the steps one after the other; there is none where cleave was built without Xbyak, the machine
// has no AVX2, or the system refuses memory that can be executed, and then the group's loops do the work.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "executor/host/code/executable_memory.h"
#include "executor/host/instructions.h"
#include "partitioner/machine/kernel_request.h"

namespace cleave::runtime::host {

class Code {
 public:
  /// Of as many of the request's steps as possible, from `first` on. `repeats`: by input, whether it is one element for all. Null: there is
  /// none for `fewest` steps.
  static std::unique_ptr<Code> make(const planner::KernelRequest& request, const std::vector<bool>& repeats, std::size_t first,
                                    std::size_t fewest, Instructions set);
  /// By the machine's best instructions.
  static std::unique_ptr<Code> make(const planner::KernelRequest& request, const std::vector<bool>& repeats, std::size_t first,
                                    std::size_t fewest);

  [[nodiscard]] std::size_t steps() const { return steps_; }
  /// Which of the group's values (its inputs, then the results of its steps) it reads, and which it writes: those that someone else reads.
  [[nodiscard]] std::span<const std::size_t> reads() const { return reads_; }
  [[nodiscard]] std::span<const std::size_t> writes() const { return writes_; }

  /// Elements side by side, but one for all where the operand repeats. Any alignment; a result may lie on top of what is read.
  /// `past_cache`: results are too large to be read from the cache again.
  void run(const std::byte* const* reads, std::byte* const* writes, std::int64_t count, bool past_cache) const;

 private:
  Code() = default;

  std::size_t steps_ = 0, streams_ = 0;  ///< of what is read, the first are streams
  std::vector<std::size_t> reads_, writes_;
  std::vector<std::int64_t> sizes_;  ///< of an element, by stream, then by result
  std::int64_t lanes_ = 1;
  ExecutableMemory memory_;
};

}  // namespace cleave::runtime::host
