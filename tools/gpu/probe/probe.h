// probe(): measures the raw limits of a machine with an NVIDIA GPU, with which cleave's speed is compared: the link, launches and graphs,
// the shortest round trip between host and kernel, device memory, cuBLASLt. It calls the driver directly, without the executor's run loop.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "executor/cuda/cuda_device.h"

namespace cleave::probe {

struct ProbeOptions {
  int ordinal = 0;
  double seconds = 40;                      ///< time for all measurements; none begins later; one point gets a two-thousandth of it
  double patience = 10;                     ///< seconds that one wait may take before the device counts as lost
  std::int64_t largest_copy = 256LL << 20;  ///< bytes; copies go from 1 KiB to this in powers of four
  std::int64_t memory_bytes = 1LL << 30;    ///< bytes that a kernel reads or writes
  int round_trips = 2000;                   ///< round trips of the flags within one launch
  /// m, n, k of each product: the sizes of the device benchmark's programs.
  std::vector<std::array<std::int64_t, 3>> products = {{128, 128, 128},    {256, 4096, 784},   {256, 4096, 4096}, {100'000, 64, 64},
                                                       {4096, 1024, 1024}, {2048, 2048, 2048}, {8192, 8192, 8192}};
  /// Called with the document after each measurement; may be null.
  std::function<void(const nlohmann::ordered_json&)> keep;
};

/// Fills `document`. If a part fails, its message is added to `errors` and the other parts are still measured. Returns the first Error
/// (machine), if there was one.
Status probe(const runtime::cuda::Api& api, const ProbeOptions& options, nlohmann::ordered_json& document);

/// The CUDA C++ text of the probe's kernels: one translation unit. All parameters are eight bytes wide.
const char* kernels_text();

}  // namespace cleave::probe
