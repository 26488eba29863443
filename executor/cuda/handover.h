// The hand-over kernel: it copies a small value out of page-locked memory or into it, and then writes a word that says so (a mailbox).
#pragma once

#include "executor/cuda/kernel_source.h"

namespace cleave::runtime::cuda {

/// The kernel's parameters, of eight bytes each, in this order.
struct Handover {
  std::uint64_t to = 0, from = 0;       ///< aligned to 16 bytes
  std::uint64_t bytes = 0;              ///< 0: only the word is written, after all earlier work of the stream
  std::uint64_t note = 0, command = 0;  ///< `command` is stored at address `note`, unless that is 0
  std::uint64_t word = 0, number = 0;   ///< `number` is stored at address `word`
};

/// One launch for a value of `bytes` bytes.
KernelLaunch handover_launch(std::int64_t bytes);
const std::string& handover_text();

}  // namespace cleave::runtime::cuda
