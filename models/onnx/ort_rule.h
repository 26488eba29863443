// Where ONNX Runtime with its CUDA provider would run the nodes of a model, and what it would copy: its rule, applied to the nodes of the
// file, to be compared with the optimum. Facts: its documentation (OperatorKernels), its sources (fallback_cpu_capability,
// transformer_memcpy).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/op.h"
#include "models/model.h"
#include "models/onnx/node_record.h"

namespace cleave::models::onnx {

/// A copy between host and accelerator in each run. What a run is given and gives back is not counted, nor are weights.
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
/// "`Unique` (f32)": with the types of its operands, each once.
std::string op_and_types(const NodeRecord& node);
/// A node with a kernel goes to the accelerator, except one that computes shapes: all of its operands come from the host (results of Shape
/// and Size and of nodes like itself, small initializers, inputs of the graph). Each graph by itself.
OrtPlacement place_as_onnxruntime(std::span<const NodeRecord> nodes);

}  // namespace cleave::models::onnx
