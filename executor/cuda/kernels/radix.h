// RadixSort: kernels that sort keys, with a number beside each, in scratch memory, line by line and stably. The kernel families that need
// an order write the keys and read the sorted result. Needs the device code "lines" and "radix".
#pragma once

#include "executor/cuda/kernels/kernel_text.h"

namespace cleave::runtime::cuda {

class RadixSort {
 public:
  /// Sorts `lines` lines of `length` keys below 2^bits.
  RadixSort(std::int64_t lines, std::int64_t length, int bits, bool wide);

  [[nodiscard]] std::string_view key_type() const { return bits_ > 32 ? "u64" : "u32"; }
  /// Declares `keys` and `numbers`, one of each for every element of every line: the buffers to fill before the sort, or the sorted ones.
  void declare_unsorted(KernelText& kernel) const { declare(kernel, 0); }
  void declare_sorted(KernelText& kernel) const { declare(kernel, passes_ % 2); }
  [[nodiscard]] std::int64_t scratch_bytes() const { return end_; }

  /// One source of the kernels `before`, which write the keys, the sort, and the kernels `behind`, which read the result.
  [[nodiscard]] KernelSource assemble_around(const KernelRequest& request, std::vector<KernelText> before, std::vector<KernelText> behind,
                                             std::int64_t more_scratch = 0, std::string fault = {}, std::string_view more_code = {}) const;

 private:
  void declare(KernelText& kernel, int buffer) const;
  void declare_part(KernelText& kernel) const;
  [[nodiscard]] KernelText whole_lines() const;
  [[nodiscard]] KernelText count_digits() const;
  [[nodiscard]] KernelText place_digits() const;
  [[nodiscard]] KernelText move_digits() const;

  const std::int64_t lines_, length_;
  const int bits_, passes_;
  const bool wide_;
  std::int64_t threads_ = 0, each_ = 0, blocks_ = 1;  ///< threads of a block, keys of a thread, blocks of a line
  std::int64_t keys_[2]{}, numbers_[2]{}, counts_ = 0, end_ = 0;
};

/// Exclusive prefix sums of `lines` lines of `count` u32 each, in place; the lines are contiguous in scratch memory from `offset` on.
KernelText sum_fronts(std::string entry, std::int64_t lines, std::int64_t count, std::int64_t offset, bool wide);

}  // namespace cleave::runtime::cuda
