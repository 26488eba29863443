// ControlGraph: the CUDA graph of a loop or branch that the GPU decides by itself: WHILE and IF nodes with what is inside as their bodies,
// and between them the kernel that counts and decides (deciding.h). Knows what decides, not what it decides about.
#pragma once

#include <functional>
#include <vector>

#include "executor/cuda/deciding.h"
#include "executor/cuda/dependences.h"
#include "executor/cuda/segment_graph.h"
#include "executor/device/device.h"

namespace cleave::runtime::cuda {

/// What a graph is made of, from whoever has the kernels.
struct ControlParts {
  const Context* context = nullptr;
  CUfunction decide = nullptr;
  CUdeviceptr arena = 0;
  CUdeviceptr words = 0;  ///< of the launch; behind them 64 bits for each control node
  std::uint64_t host_words = 0;
  std::function<Touched(const DeviceStep&)> touched;
  std::function<bool(const DeviceStep&)> faulty;  ///< whether the kernel looks at its data, and stops all loops where they are wrong
  bool any_faulty = false;
  std::function<Status(SegmentGraph&, const DeviceStep&)> add;
};

class ControlGraph {
 public:
  /// Ready to be launched. Only where the driver has conditional nodes.
  static Result<ControlGraph> make(const ControlParts& parts, const DeviceControl& control);
  /// How many bytes of device memory its words take.
  static std::int64_t bytes_of_words(const DeviceControl& control);

  /// `count`: of the outermost loop, where that is said at each launch.
  Status launch(CUstream stream, std::uint64_t command, std::int64_t count);

 private:
  explicit ControlGraph(const Context& context) : context_(&context) {}

  const Context* context_;
  GraphHandle source_;  ///< names the nodes
  GraphExecHandle graph_;
  CUgraphNode open_ = nullptr;
  CUfunction decide_ = nullptr;
  Deciding opening_;
};

}  // namespace cleave::runtime::cuda
