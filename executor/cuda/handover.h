// The kernel that takes a small value out of page-locked memory, or puts one there, and says in a word that it has.
#pragma once

#include "executor/cuda/kernel_source.h"

namespace cleave::runtime::cuda {

/// What the kernel is told. Eight bytes each, in this order.
struct Handover {
  std::uint64_t to = 0, from = 0;       ///< aligned to 16 bytes
  std::uint64_t bytes = 0;              ///< none: only the word is written, behind all that the stream did before
  std::uint64_t note = 0, command = 0;  ///< where the number of the command is written down; 0: nowhere
  std::uint64_t word = 0, number = 0;   ///< what is said, and where
};

/// One launch for values of so many bytes.
KernelLaunch handover_launch(std::int64_t bytes);
const std::string& handover_text();

}  // namespace cleave::runtime::cuda
