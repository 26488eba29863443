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

namespace cleave::models::onnx {

/// A copy between host and accelerator in each run. Inputs and outputs of the run are not counted, nor are weights.
struct OrtCopy {
  std::string value, producer, consumer;  ///< titles of nodes
  std::int64_t bytes = 0;
  bool to_host = false;
};

struct OrtPlacement {
  std::vector<Side> sides;  ///< by node
  std::vector<OrtCopy> copies;
};

/// Whether ONNX Runtime 1.23 has a CUDA kernel for the node.
bool ort_has_cuda_kernel(const NodeRecord& node);
/// "`Unique` (f32)": the operator with the distinct types of its operands.
std::string op_and_types(const NodeRecord& node);
/// Places a node with a CUDA kernel on the accelerator, unless it computes shapes: then all of its operands are on the host (results of
/// Shape, Size and other shape-computing nodes, small initializers, inputs of the graph). Treats each graph separately.
OrtPlacement place_as_onnxruntime(std::span<const NodeRecord> nodes);

}  // namespace cleave::models::onnx
