// KernelSource: the CUDA C++ text of one operation with fixed types and attributes, and its launches. Text only: it knows no driver, no
// addresses and no memory. CudaDevice compiles and launches it. Matrix products go through matmul.h instead.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "executor/runtime.h"
#include "graph/kernel/kernel_request.h"

namespace cleave::runtime::cuda {

/// The properties of a GPU for which text is generated.
struct Architecture {
  int major = 9, minor = 0;  ///< compute capability
  int multiprocessors = 132;
  std::int64_t narrow_elements = (1LL << 31) - (1LL << 24);  ///< tensors of more elements are indexed with 64 bits

  /// True if f64 has half the rate of f32 (A100, H100, B200), and not a 32nd or less as on other GPUs.
  [[nodiscard]] bool fast_f64() const { return minor == 0 && major >= 8 && major <= 10; }
};

/// One launch. Every parameter is eight bytes wide; a kernel takes, in this order:
///   the address of each input, then of each result;
///   the address of the scratch memory, if `KernelSource::scratch_bytes` > 0;
///   if `KernelSource::fault` is not empty: the address of two 64-bit words `fault`, and a 64-bit `ticket`, or with the highest bit set
///   the address of LaunchWords (deciding.h);
///   the constants, as long long.
struct KernelLaunch {
  std::string entry;  ///< the kernel's name in the text; extern "C"
  std::array<unsigned, 3> grid{1, 1, 1}, block{1, 1, 1};
  unsigned shared_bytes = 0;  ///< dynamic shared memory
  std::vector<std::int64_t> constants;
  bool any_grid = false;  ///< blocks loop until all work is done, so that a smaller grid (along x) is correct too
};

struct KernelSource {
  std::string text;                    ///< one translation unit for NVRTC, without #include
  std::vector<KernelLaunch> launches;  ///< run one after the other; empty: nothing to do (no elements)
  std::int64_t scratch_bytes = 0;      ///< aligned to 256, undefined at the first launch, shared with other operations
  /// The message for invalid data; `{}` stands for the offending number. On invalid data the kernel stays in bounds and calls
  /// `tell_fault(fault, ticket, number)` (device/elements.cuh). The words are in page-locked host memory: the host reads the number after
  /// it has seen the ticket.
  std::string fault;
  /// Makes the message if `{}` is not enough; may be null.
  std::function<std::string(std::int64_t number)> describe_fault = nullptr;
};

/// True if `kernel_source` has a kernel; needs types and attributes only, no ranges.
bool has_kernel(const KernelRequest& request);

/// The kernel for `request`, whose ranges are not read; nothing if the op has no kernel for these types.
std::optional<KernelSource> kernel_source(const KernelRequest& request, const Architecture& architecture);

}  // namespace cleave::runtime::cuda
