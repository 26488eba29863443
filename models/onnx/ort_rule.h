// The placement of ONNX Runtime with its CUDA provider: its rule, applied to the nodes of a file, for comparison with the optimum. Sources:
// its documentation (OperatorKernels) and its code (fallback_cpu_capability, transformer_memcpy).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/op.h"
#include "models/model.h"
#include "models/onnx/node_record.h"
#include "models/onnx/ort_kernels.h"

namespace cleave::models::onnx {

/// A copy between host and accelerator in each run. Inputs and outputs of the run are not counted, nor are weights.
struct OrtCopy {
  std::string value, producer, consumer;  ///< titles of nodes
  std::int64_t bytes = 0;
  bool to_host = false;
};

struct OrtPlacement {
  std::vector<Side> sides;        ///< by node; the accelerator for a Constant, which becomes an initializer
  std::size_t nodes = 0;          ///< without Constants
  std::vector<std::string> host;  ///< titles of the nodes on the host, in the file's order
  std::vector<OrtCopy> copies;
};

/// Places a node with a kernel among `kernels` on the accelerator, unless it computes shapes: then all of its operands are on the host
/// (results of Shape, Size and other shape-computing nodes, small initializers, inputs of the graph). Treats each graph separately.
OrtPlacement place_as_onnxruntime(std::span<const NodeRecord> nodes, const OrtKernels& kernels);

}  // namespace cleave::models::onnx
