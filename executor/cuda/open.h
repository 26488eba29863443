// The door to the CUDA room, for those who know no CUDA header. In a build without the toolkit's headers it says so.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "executor/device/device.h"
#include "executor/run/executor.h"

namespace cleave::cuda {

/// One GPU, or the reason why there is none, as `cleave devices` shows it.
struct Found {
  std::string name;         ///< "cuda:0"; "cuda" where there is nothing to number
  std::string why;          ///< not usable because; empty: usable
  std::string description;  ///< the GPU's name and compute capability
  std::string versions;     ///< of the driver and the libraries
  double memory_bytes = 0;  ///< in all
};

/// What there is; at least one entry. Opens no context, takes no memory.
std::vector<Found> find_devices();
/// Whether there is a GPU and all libraries: an Error (machine) says what is missing. Cheap: opens no context.
Status usable();
/// Opens GPU `options.ordinal`.
Result<std::unique_ptr<Device>> open(const ExecutorOptions& options);
/// An array in memory that all GPUs copy from and to directly, allocated through GPU `ordinal`.
Result<Array> page_locked(TensorType type, int ordinal);
/// Whether there is a kernel for a node.
bool supports(const Graph& graph, NodeId node);
/// Whether there is one kernel for a request of several steps: the device's FusionRule (executor/memory/fusion.h).
bool fuses(const KernelRequest& request);

}  // namespace cleave::cuda
