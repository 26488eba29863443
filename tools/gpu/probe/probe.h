// probe(): the raw limits of a machine with an NVIDIA GPU, by the driver alone, so that what cleave reaches can be held against them: the
// link, launches and graphs, the shortest way from host to kernel and back, device memory, cuBLASLt. Nothing of the executor is in the way.
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
  double seconds = 40;                      ///< of all, after which nothing further is begun; a point gets a two-thousandth of it
  double patience = 10;                     ///< seconds that the device may take for one thing, after which it counts as lost
  std::int64_t largest_copy = 256LL << 20;  ///< bytes; copies go from 1 KiB to this in powers of four
  std::int64_t memory_bytes = 1LL << 30;    ///< that a kernel reads or writes
  int round_trips = 2000;                   ///< of the flags, one launch long
  /// m, n, k: those of the programs of the device benchmark.
  std::vector<std::array<std::int64_t, 3>> products = {{128, 128, 128},    {256, 4096, 784},   {256, 4096, 4096}, {100'000, 64, 64},
                                                       {4096, 1024, 1024}, {2048, 2048, 2048}, {8192, 8192, 8192}};
  /// Is shown the document after each measurement; null: nobody wants to know.
  std::function<void(const nlohmann::ordered_json&)> keep;
};

/// Fills `document`: a part that fails holds `error`, and the rest is measured all the same. The first Error (machine), if there was any.
Status probe(const runtime::cuda::Api& api, const ProbeOptions& options, nlohmann::ordered_json& document);

/// The CUDA C++ text of the probe's kernels, one translation unit. All parameters are eight bytes wide.
const char* kernels_text();

}  // namespace cleave::probe
