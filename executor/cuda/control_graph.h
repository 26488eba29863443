// ControlGraph: the CUDA graph of a loop or branch that the GPU decides without the host: WHILE and IF nodes whose bodies hold the steps,
// and between them the kernel that counts trips and sets conditions (deciding.h). It does not know the kernels of the steps.
#pragma once

#include <functional>
#include <vector>

#include "executor/cuda/deciding.h"
#include "executor/cuda/dependences.h"
#include "executor/cuda/segment_graph.h"
#include "executor/device/controls.h"

namespace cleave::runtime::cuda {

/// The device's parts from which a graph is built: addresses, and functions for the device's kernels.
struct ControlParts {
  const Context* context = nullptr;
  CUfunction decide = nullptr;
  CUdeviceptr arena = 0;
  CUdeviceptr words = 0;  ///< address of the LaunchWords, followed by 64 bits for each control node
  std::uint64_t host_words = 0;
  std::function<Touched(const DeviceStep&)> touched;
  std::function<bool(const DeviceStep&)> faulty;  ///< true if the kernel checks its data, and stops all loops on a fault
  bool any_faulty = false;
  std::function<Status(SegmentGraph&, const DeviceStep&)> add;
};

class ControlGraph {
 public:
  /// Builds the graph and makes it ready to launch. The driver must have conditional nodes.
  static Result<ControlGraph> make(const ControlParts& parts, const DeviceControl& control);
  /// The bytes of device memory for the graph's words.
  static std::int64_t bytes_of_words(const DeviceControl& control);

  /// `count`: the trip count of the outermost loop, if the loop takes it at each launch.
  Status launch(CUstream stream, std::uint64_t command, std::int64_t count);

 private:
  explicit ControlGraph(const Context& context) : context_(&context) {}

  const Context* context_;
  GraphHandle source_;  ///< needed to name the nodes of `graph_`
  GraphExecHandle graph_;
  CUgraphNode open_ = nullptr;
  CUfunction decide_ = nullptr;
  Deciding opening_;
};

}  // namespace cleave::runtime::cuda
