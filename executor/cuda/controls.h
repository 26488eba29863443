// CudaControls: the loops and branches of one device that the GPU decides without the host, each a CUDA graph that is built before the
// first run. If the driver rejects a graph, that is no error: the host then walks the loop or branch.
#pragma once

#include <optional>
#include <vector>

#include "executor/cuda/control_graph.h"
#include "executor/cuda/cuda_kernels.h"
#include "executor/device/controls.h"

namespace cleave::runtime::cuda {

class CudaControls final : public Controls {
 public:
  CudaControls(Context& context, CudaStreams& streams, CudaMemory& memory, CudaModules& modules, CudaKernels& kernels)
      : context_(context), streams_(streams), memory_(memory), modules_(modules), kernels_(kernels) {}

  /// True if the driver has conditional nodes.
  static bool offered_by(const DriverApi& driver) { return driver.cuGraphAddNode && driver.cuGraphConditionalHandleCreate; }

  ControlId prepare(DeviceControl control) override;
  [[nodiscard]] bool ready(ControlId control) const override { return controls_[control.index].graph.has_value(); }
  /// Before the first run, once all memory is allocated.
  Status build();
  /// Tells the run that a loop on the GPU makes progress, which may take long, so that the watchdog does not end the run.
  void watch(RunState& run) const;
  Status launch(ControlId control, std::int64_t count, const Origin& origin) override;
  /// Makes every loop end. From any thread.
  void stop() const;

 private:
  struct PreparedControl {
    DeviceControl control;
    std::vector<DeviceStep> steps;  ///< all steps inside it
    std::int64_t end = 0;
    DeviceMemory words;
    std::optional<ControlGraph> graph;  ///< built before the first run; none: the driver cannot do it
  };
  Status build(PreparedControl& control);

  Context& context_;
  CudaStreams& streams_;
  CudaMemory& memory_;
  CudaModules& modules_;
  CudaKernels& kernels_;
  std::vector<PreparedControl> controls_;
  CUfunction decide_ = nullptr;      ///< null: no controls
  HostWords* host_words_ = nullptr;  ///< null: no controls; in page-locked memory
};

}  // namespace cleave::runtime::cuda
