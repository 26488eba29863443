// CudaKernels: the kernels of one device, each prepared once: launched by itself, or added to a graph. Chooses for a request an optional
// library, cleave's own kernel, or cuBLASLt.
#pragma once

#include <vector>

#include "executor/cuda/products.h"
#include "executor/cuda/segment_graph.h"
#include "executor/device/segments.h"

namespace cleave::runtime::cuda {

/// A graph node whose ticket parameter is set anew before each launch of the graph.
struct NumberedNode {
  CUgraphNode node = nullptr;
  const PreparedLaunch* launch = nullptr;
};

class CudaKernels {
 public:
  CudaKernels(Context& context, CudaStreams& streams, const CudaOptions& options, const Libraries* libraries, CudaMemory& memory,
              CudaModules& modules, KernelFaults& faults, SourceKernels& sources, Products& products)
      : context_(context),
        streams_(streams),
        options_(options),
        libraries_{libraries, &context},
        memory_(memory),
        modules_(modules),
        faults_(faults),
        sources_(sources),
        products_(products) {}

  /// Compiles the texts of the kernels of these requests.
  void announce(std::span<const KernelRequest> requests);
  Result<KernelId> prepare(KernelRequest request);
  /// Before the first run: allocates the memory that all kernels share.
  Status allocate_scratch();
  /// Once the rounded copies have memory.
  void place_operands(const RoundedCopies& rounded);
  Status launch(KernelId id, const Origin& origin);
  [[nodiscard]] const PreparedKernel& operator[](KernelId id) const { return kernels_[id.index]; }

  /// Prepares the kernels of steps that are launched as one command. The end of the part of the arena that the steps touch.
  std::int64_t join(const std::vector<DeviceStep>& steps);
  [[nodiscard]] Touched touched_by(const DeviceStep& step) const;
  /// Adds a step to a graph. `ticket` is the parameter of kernels that take one. Their nodes are added to `numbered` unless it is null.
  Status add_step(SegmentGraph& graph, const DeviceStep& step, std::uint64_t ticket, std::vector<NumberedNode>* numbered) const;

 private:
  Result<PreparedKernel> prepare_any(const KernelRequest& request);
  Result<PreparedKernel> prepare_calls(const KernelRequest& request, LibraryOp op);

  Context& context_;
  CudaStreams& streams_;
  const CudaOptions& options_;
  LibrarySetting libraries_;
  CudaMemory& memory_;
  CudaModules& modules_;
  KernelFaults& faults_;
  SourceKernels& sources_;
  Products& products_;
  std::vector<PreparedKernel> kernels_;
  std::int64_t scratch_bytes_ = 0;
  DeviceMemory scratch_;
};

}  // namespace cleave::runtime::cuda
