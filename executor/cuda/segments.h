// CudaSegments: the segments of one device, each a CUDA graph that is built before the first run.
#pragma once

#include <vector>

#include "executor/cuda/cuda_kernels.h"

namespace cleave::runtime::cuda {

class CudaSegments final : public Segments {
 public:
  CudaSegments(Context& context, CudaStreams& streams, CudaMemory& memory, CudaKernels& kernels)
      : context_(context), streams_(streams), memory_(memory), kernels_(kernels) {}

  [[nodiscard]] bool joins(KernelId kernel) const override { return kernels_[kernel].captures; }
  SegmentId prepare(std::vector<DeviceStep> steps) override;
  /// Before the first run, once all memory is allocated.
  Status build();
  Status launch(SegmentId segment, const Origin& origin) override;

 private:
  struct PreparedSegment {
    std::vector<DeviceStep> steps;
    // Set before the first run:
    GraphHandle source;     ///< needed to name the nodes of `graph`
    GraphExecHandle graph;  ///< empty: nothing to do
    std::vector<NumberedNode> numbered;
    std::int64_t end = 0;
  };
  Status build(PreparedSegment& segment);

  Context& context_;
  CudaStreams& streams_;
  CudaMemory& memory_;
  CudaKernels& kernels_;
  std::vector<PreparedSegment> segments_;
};

}  // namespace cleave::runtime::cuda
